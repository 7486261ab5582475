import Clocks
import Glibc
import Observability
import Synchronization
import TestSupport
import Testing

@testable import EventLog

/// Mishaps that need several things to go wrong in one order: each was a fault once.
@Suite("When things go wrong in an unlucky order")
struct MishapTests {
  let disk = SimulatedDisk()

  func fixture(_ change: (inout LogFixture) -> Void = { _ in }) -> LogFixture {
    var fixture = LogFixture(directory: "/data", disk: disk)
    fixture.tuning.retryAfterNoSpace = .zero
    change(&fixture)
    return fixture
  }

  /// What a destination that has had nothing would be handed.
  func sequences(_ log: FileLog) throws -> [UInt64] {
    try log.subscribe("check", origin: .oldest).readAll(.all).map(\.sequence)
  }

  @Test("a log that was closed leaves the files alone, whoever has them now")
  func closedTwice() throws {
    let first = try fixture().open()
    first.put(0..<3)
    first.close()
    // The first log's file becomes another segment of the second one.
    let second = try fixture().open()
    let upstream = try second.subscribe("upstream", origin: .oldest)
    for serial in 3..<100 { second.put(serial..<serial + 1) }
    upstream.acknowledge(.all, 1...100, Tally(.delivered, 100))
    try upstream.commit(attachment: nil)
    for serial in 100..<200 { second.put(serial..<serial + 1) }
    first.close()
    #expect(try upstream.readAll(.all).map(\.sequence) == Array(101...200))
    second.close()
    let third = try fixture().open()
    #expect(try third.subscribe("upstream", origin: .oldest).readAll(.all).map(\.sequence) == Array(101...200))
    #expect(third.corruptRecords.value == 0)
  }

  @Test("what a killed process had renamed and not synced is durable before anything is answered", arguments: 1...20)
  func renamedAndKilled(seed: UInt64) throws {
    let first = try fixture().open()
    let upstream = try first.subscribe("upstream", origin: .oldest)
    first.put(0..<3)
    upstream.acknowledge(.all, 1...2, Tally(.delivered, 2))
    try upstream.commit(attachment: nil)
    // It is killed, and the system still has every name; the disk has none of them.
    disk.forgetNames(below: "/data/")
    let second = try fixture().open()
    second.put(3..<6)
    var random = SeededGenerator(seed: seed)
    disk.powerCycle(&random)
    let third = try fixture().open()
    #expect(try sequences(third) == Array(1...6))
    #expect(try third.subscribe("upstream", origin: .oldest).readAll(.all).map(\.sequence) == Array(3...6))
    withExtendedLifetime((first, second)) {}
  }

  @Test("room that is made while a segment is being refused counts")
  func roomDuringRefusal() throws {
    let configuration = FileLogConfiguration(segmentSize: 4096, maxSize: 1 << 20, minFreeDisk: 0)
    let writer = LogWriter(
      configuration: configuration, tuning: FileLogTuning(isInline: true, stagingSize: 4096),
      freeSpace: FreeSpace(path: "/", minimum: 0, disk: disk), names: AppTable(), logger: .silent,
      metrics: MetricsRegistry(), active: nil, given: LogWriter.Given(), nextSequence: 1)
    let asked = Counter()
    writer.effects = LogWriter.Effects(
      publish: { _, _ in }, wake: {},
      roll: { [unowned writer] _, _ in
        asked.add()
        // Another thread frees a segment after the log was found full, and before the writer has noted that.
        if asked.value == 1 { writer.roomWasMade() }
        return .blocked(.logFull, stays: nil)
      }, leaveSign: {})
    let box = OutcomeBox()
    Drafts.with(serials: 0..<1) { draft in writer.append(draft) { box.set($0) } }
    #expect(asked.value == 2)
    #expect(box.all == [.refused(.logFull)])
    Drafts.with(serials: 0..<1) { draft in writer.append(draft) { box.set($0) } }
    #expect(asked.value == 2, "nothing is tried again while nothing has changed")
  }

  /// How many puts of one event the first segment takes.
  func putsInSegment() throws -> Int {
    let disk = SimulatedDisk()
    var fixture = fixture { $0.configuration.segmentSize = 16 * 1024 }
    fixture.disk = disk
    let log = try fixture.open()
    var puts = 0
    while disk.paths.filter({ $0.contains("/segment-") }).count < 2 {
      log.put(puts..<puts + 1)
      puts += 1
    }
    return puts - 1
  }

  @Test("a sync that finds no space while a segment is sealed fails the log: nothing is written behind a footer")
  func sealWithoutSpace() throws {
    let puts = try putsInSegment() - 4
    var log = try fixture { $0.configuration.segmentSize = 16 * 1024 }.open()
    for serial in 0..<puts { #expect(log.put(serial..<serial + 1) == .stored(first: UInt64(serial) + 1)) }
    disk.failSync(after: 0, code: ENOSPC)
    // Too large for what is left of the segment; the ones after it are not.
    _ = log.put(puts..<puts + 1, size: 4000)
    disk.clearFaults()
    var stored = puts
    for serial in puts + 1..<puts + 4 {
      if case .stored = log.put(serial..<serial + 1) { stored += 1 }
    }
    // The process is killed; what the disk was told is there.
    log = try fixture { $0.configuration.segmentSize = 16 * 1024 }.open()
    #expect(try sequences(log).count >= stored)
  }

  @Test("nothing of a write that a full disk refused comes back, however often clearing it failed")
  func remainsOfRefused() throws {
    var log = try fixture { $0.configuration.segmentSize = 64 * 1024 }.open()
    #expect(log.put(0..<1) == .stored(first: 1))
    let many = (1..<41).map { log.stage($0..<$0 + 1) }
    disk.failWrite(after: 0, code: ENOSPC)
    disk.refuseWrites(3)
    log.syncInline()
    #expect(many.allSatisfy { $0.all == [.refused(.diskFull)] })
    #expect(log.put(100..<101) == .refused(.diskFull))
    disk.clearFaults()
    #expect(log.put(200..<201) == .stored(first: 2))
    log = try fixture { $0.configuration.segmentSize = 64 * 1024 }.open()
    #expect(try sequences(log) == [1, 2])
    #expect(log.corruptRecords.value == 0)
    #expect(log.put(201..<202) == .stored(first: 3))
  }

  @Test("a log that drops goes on by itself when positions can be written again")
  func dropWithoutSpace() throws {
    let log = try fixture {
      $0.configuration.maxSize = 16 * 1024
      $0.configuration.onFull = .dropOldest
    }.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    var serial = 0
    while log.keeper.droppedEvents.value == 0 {
      log.put(serial..<serial + 1)
      serial += 1
    }
    let dropped = log.keeper.droppedEvents.value
    disk.refuseWrites(.max, to: "/positions/")
    var isRefused = false
    while !isRefused {
      if case .refused = log.put(serial..<serial + 1) { isRefused = true }
      serial += 1
    }
    disk.clearFaults()
    // Nobody acknowledges anything: it is the log's own affair.
    for _ in 0..<100 {
      if case .refused(let why) = log.put(serial..<serial + 1) { Issue.record("still refused: \(why)") }
      serial += 1
    }
    #expect(log.keeper.droppedEvents.value > dropped)
    #expect(upstream.ledger.isBalanced)
  }

  @Test("a damaged header of a recycled segment is told from the frames of its own life, not from an old footer")
  func headerOfRecycled() throws {
    var log = try fixture().open()
    var upstream = try log.subscribe("upstream", origin: .oldest)
    var serial = 0
    func put() {
      log.put(serial..<serial + 1)
      serial += 1
    }
    func settle(_ last: UInt64) throws {
      let first = UInt64(upstream.ledger.settled.total) + 1
      guard last >= first else { return }
      upstream.acknowledge(.app("ios"), first...last, Tally(.delivered, Int(last - first) + 1))
      try upstream.commit(attachment: nil)
    }
    for _ in 0..<100 { put() }
    // All segments but the active one are freed, and the next ones are made of them.
    try settle(100)
    let before = log.catalog.all.last!.number
    while log.catalog.all.last!.number == before { put() }
    try settle(UInt64(serial - 1))
    #expect(log.catalog.all.count == 1)
    put()
    put()
    log.close()
    let path = disk.paths.last { $0.contains("/segment-") }!
    disk.corrupt(path) { $0[100] ^= 1 }
    log = try fixture().open()
    upstream = try log.subscribe("upstream", origin: .oldest)
    #expect(try upstream.readAll(.app("ios")).map(\.sequence) == Array(UInt64(serial) - 2...UInt64(serial)))
    #expect(log.put(0..<1) == .stored(first: UInt64(serial) + 1))
  }

  @Test("what is only written is synced in time, however much comes in")
  func syncsUnderLoad() throws {
    var log = try fixture {
      $0.configuration.durability = .os
      $0.tuning.syncInterval = .zero
    }.open()
    for serial in 0..<5 { #expect(log.put(serial..<serial + 1) == .stored(first: UInt64(serial) + 1)) }
    var random = SeededGenerator(seed: 7)
    disk.powerCycle(&random)
    log = try fixture().open()
    #expect(try sequences(log) == [1, 2, 3, 4, 5])
  }

  @Test("nobody who looks into the log's directories holds up the writer")
  func wakesWithoutWaiting() throws {
    let log = try fixture().open()
    let subscription = try log.fileSubscription("sink", origin: .oldest)
    let woken = Counter()
    subscription.onProgress { woken.add() }
    // A thread that waits for itself would never come back.
    subscription.monitor.withLock { _ = log.put(0..<1) }
    #expect(woken.value == 1)
  }

  /// A log with many nearly finished segments, each with an event that is parked.
  func parked() throws -> (log: FileLog, subscription: any Subscription, owed: [UInt64]) {
    let log = try fixture {
      $0.tuning.rewriteAtOnce()
      $0.configuration.segmentSize = 16 * 1024
      $0.configuration.maxSize = 8 << 20
    }.open()
    let lanes = try log.subscribe("lanes", origin: .oldest)
    for i in 0..<1600 { log.put(app: i % 40 == 7 ? "parked" : "ios", i..<i + 1, size: 100) }
    lanes.acknowledge(.app("ios"), 1...1600, Tally(.delivered, 1560))
    try lanes.commit(attachment: nil)
    return (log, lanes, (0..<40).map { UInt64($0 * 40 + 8) })
  }

  @Test("who reads while a segment is rewritten takes nothing for lost")
  func readWhileRewriting() throws {
    let (log, lanes, owed) = try parked()
    let reads = Counter()
    disk.beforeSyncDirectory {
      lanes.rewind(.app("parked"))
      #expect((try? lanes.readAll(.app("parked")).map(\.sequence)) == owed)
      reads.add()
    }
    log.maintainInline()
    disk.beforeSyncDirectory(nil)
    #expect(reads.value > 16)
    #expect(lanes.ledger == Ledger(accepted: 1600, settled: Tally(.delivered, 1560), waiting: 40))
    #expect(log.corruptRecords.value == 0)
  }

  @Test("a rewritten segment whose directory can't be synced is one or the other, and both are whole")
  func rewriteWithoutSync() throws {
    for cut in [false, true] {
      var (log, lanes, owed) = try parked()
      disk.failSync(after: 1)
      log.maintainInline()
      disk.clearFaults()
      lanes.rewind(.app("parked"))
      #expect(try lanes.readAll(.app("parked")).map(\.sequence) == owed)
      var random = SeededGenerator(seed: 3)
      if cut { disk.powerCycle(&random) } else { log.close() }
      log = try fixture().open()
      lanes = try log.subscribe("lanes", origin: .oldest)
      #expect(try lanes.readAll(.app("parked")).map(\.sequence) == owed)
      #expect(lanes.ledger == Ledger(accepted: 1600, settled: Tally(.delivered, 1560), waiting: 40))
      for path in disk.paths { try disk.unlink(path) }
    }
  }

  @Test("a destination that begins to read all apps together bears what comes in at that moment")
  func mergesWhileEventsCome() throws {
    let log = try fixture().open()
    let sink = try log.fileSubscription("sink", origin: .oldest)
    log.put(app: "ios", 0..<3)
    log.put(app: "web", 3..<5)
    sink.acknowledge(.app("ios"), 1...2, Tally(.delivered, 2))
    // Synced, and not taken notice of yet.
    log.put(app: "web", 5..<6)
    log.put(app: "new", 6..<8)
    sink.monitor.withLock { sink.mergeLanes() }
    #expect(try sink.readAll(.all).map(\.sequence) == [3, 4, 5, 6, 7, 8])
    #expect(sink.ledger == Ledger(accepted: 8, settled: Tally(.delivered, 2), waiting: 6))
    log.put(app: "ios", 8..<9)
    sink.acknowledge(.all, 3...4, Tally(.delivered, 2))
    log.put(app: "later", 9..<10)
    sink.monitor.withLock { sink.splitLanes() }
    #expect(try sink.readAll(.app("new")).map(\.sequence) == [7, 8])
    #expect(sink.ledger == Ledger(accepted: 10, settled: Tally(.delivered, 4), waiting: 6))
  }
}
