import Clocks
import EventLog
import Glibc
import Observability
import TestSupport
import Testing

@testable import EventLog

@Suite("When there is no room")
struct FullDiskTests {
  let disk = SimulatedDisk()
  var fixture: LogFixture {
    var fixture = LogFixture(directory: "/data", disk: disk)
    fixture.tuning.retryAfterNoSpace = .zero
    return fixture
  }

  @Test("a full disk refuses events, and takes them again by itself when it has space")
  func noSpaceForSegment() throws {
    let log = try fixture.open()
    #expect(log.put(0..<1) == .stored(first: 1))
    disk.setFree(0)
    var outcomes: [AppendOutcome?] = []
    for i in 1..<30 { outcomes.append(log.put(i..<i + 1, size: 200)) }
    #expect(outcomes.first == .stored(first: 2))
    #expect(outcomes.last == .refused(.diskFull))
    let stored = UInt64(outcomes.count { $0 != .refused(.diskFull) }) + 1
    disk.setFree(1 << 30)
    #expect(log.health == .ok)
    #expect(log.put(30..<31) == .stored(first: stored + 1))
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).count == Int(stored) + 1)
  }

  @Test("a write that finds the disk full refuses what was staged, and gives its numbers again")
  func noSpaceInWrite() throws {
    let log = try fixture.open()
    log.put(0..<2)
    disk.failWrite(after: 0, code: ENOSPC)
    let boxes = [log.stage(2..<4), log.stage(4..<6)]
    log.syncInline()
    #expect(boxes.map(\.all) == [[.refused(.diskFull)], [.refused(.diskFull)]])
    #expect(log.put(6..<7) == .stored(first: 3))
    let all = try log.subscribe("all", origin: .oldest)
    #expect(try all.readAll(.all).map(\.index.idHigh) == [0, 1, 6])
    // What half a write left behind is no frame, not even after a crash.
    let again = try fixture.open()
    #expect(again.tornWrites == 0 && again.statistics.corruptRecords == 0)
    #expect(again.statistics.nextSequence == 4)
  }

  @Test("says so while it lasts")
  func health() throws {
    var fixture = fixture
    fixture.tuning.retryAfterNoSpace = .seconds(600)
    let log = try fixture.open()
    log.put(0..<2)
    disk.failWrite(after: 0, code: ENOSPC)
    #expect(log.put(2..<4) == .refused(.diskFull))
    guard case .diskFull(let detail) = log.health else {
      Issue.record("\(log.health)")
      return
    }
    #expect(detail.contains("/data/log"))
    #expect(log.put(4..<5) == .refused(.diskFull))
  }

  @Test("nothing is taken in below min_free_disk, and the log opens all the same")
  func minimum() throws {
    var fixture = fixture
    fixture.configuration.minFreeDisk = 1 << 20
    disk.setFree(1000)
    let log = try fixture.open()
    #expect(log.put(0..<1) == .refused(.diskFull))
    guard case .diskFull = log.health else {
      Issue.record("\(log.health)")
      return
    }
    disk.setFree(1 << 30)
    log.freeSpace.refresh()
    #expect(log.health == .ok)
    #expect(log.put(0..<1) == .stored(first: 1))
  }

  @Test("a full log refuses events until its destinations have settled some")
  func maxSize() throws {
    var fixture = fixture
    fixture.configuration.maxSize = 16 * 1024
    fixture.tuning.retryAfterNoSpace = .seconds(600)
    let log = try fixture.open()
    let all = try log.subscribe("all", origin: .oldest)
    var count = 0
    while log.put(count..<count + 1, size: 200) == .stored(first: UInt64(count) + 1) { count += 1 }
    #expect(count > 10)
    #expect(log.health == .full)
    #expect(log.put(count..<count + 1) == .refused(.logFull))
    #expect(log.statistics.sizeBytes <= fixture.configuration.maxSize)
    let read = try all.readAll(.all)
    #expect(read.count == count)
    all.acknowledge(.all, 1...UInt64(count / 2), Tally(.delivered, count / 2))
    #expect(log.put(count..<count + 1) == .refused(.logFull))
    try all.commit(attachment: nil)
    #expect(log.health == .ok)
    #expect(log.put(count..<count + 1) == .stored(first: UInt64(count) + 1))
    #expect(log.statistics.droppedEvents == 0)
  }

  @Test("drop_oldest drops the oldest segment and counts exactly what each destination was still owed of it")
  func dropOldest() throws {
    var fixture = fixture
    fixture.configuration.maxSize = 16 * 1024
    fixture.configuration.onFull = .dropOldest
    fixture.metrics = MetricsRegistry()
    var log = try fixture.open()
    var lanes = try log.subscribe("lanes", origin: .oldest)
    let all = try log.subscribe("all", origin: .oldest)
    var gone = try log.subscribe("gone", origin: .oldest)
    for i in 0..<10 { #expect(log.put(app: "app\(i % 2)", i..<i + 1, size: 200) != nil) }
    let batch = EventBatch()
    #expect(try lanes.read(.app("app0"), limit: ReadLimit(events: 3, bytes: 9999), into: batch))
    lanes.acknowledge(.app("app0"), 1...3, Tally(.delivered, 2))
    try lanes.commit(attachment: ["file": 1])
    // Acknowledged in memory alone: in the books now, but not in what a crash would leave.
    lanes.acknowledge(.app("app0"), 5...5, Tally(.delivered, 1))
    // Read and on its way when the segment goes.
    #expect(try all.readAll(.all).count == 10)

    for i in 10..<60 { #expect(log.put(app: "app\(i % 2)", i..<i + 1, size: 200) == .stored(first: UInt64(i) + 1)) }
    let oldest = log.statistics.oldestSequence
    #expect(oldest > 10)
    let dropped = oldest - 1
    #expect(
      lanes.ledger
        == Ledger(accepted: 60, settled: Tally([.delivered: 3, .droppedLogFull: dropped - 3]), waiting: 60 - dropped))
    #expect(gone.ledger == Ledger(accepted: 60, settled: Tally([.droppedLogFull: dropped]), waiting: 60 - dropped))
    // What the destination says of dropped events comes too late; the rest of its range counts.
    all.acknowledge(.all, 1...oldest + 1, Tally(.delivered, Int(oldest) + 1))
    #expect(
      all.ledger
        == Ledger(accepted: 60, settled: Tally([.delivered: 2, .droppedLogFull: dropped]), waiting: 58 - dropped))
    #expect(log.statistics.droppedEvents == dropped * 3 - 3)
    #expect(fixture.metrics.renderPrometheus().contains("event_relay_log_dropped_events_total \(dropped * 3 - 3)\n"))
    #expect(try gone.readAll(.app("app1")).first?.sequence ?? 0 >= oldest)

    // The crash: the drop was durable before the segment went, and only the drop.
    log = try fixture.open()
    lanes = try log.subscribe("lanes", origin: .oldest)
    gone = try log.subscribe("gone", origin: .oldest)
    #expect(lanes.attachment == ["file": 1])
    #expect(
      lanes.ledger
        == Ledger(accepted: 60, settled: Tally([.delivered: 2, .droppedLogFull: dropped - 2]), waiting: 60 - dropped))
    #expect(gone.ledger == Ledger(accepted: 60, settled: Tally([.droppedLogFull: dropped]), waiting: 60 - dropped))
  }

  @Test("drop_oldest drops also what a destination is owed that nobody reads in this run")
  func dropForAbsent() throws {
    var fixture = fixture
    var log = try fixture.open()
    _ = try log.subscribe("absent", origin: .oldest)
    log.put(0..<1)
    log.close()
    fixture.configuration.maxSize = 16 * 1024
    fixture.configuration.onFull = .dropOldest
    log = try fixture.open()
    for i in 1..<60 { #expect(log.put(i..<i + 1, size: 200) == .stored(first: UInt64(i) + 1)) }
    let oldest = log.statistics.oldestSequence
    #expect(oldest > 1)
    let absent = try log.subscribe("absent", origin: .oldest)
    #expect(
      absent.ledger == Ledger(accepted: 60, settled: Tally(.droppedLogFull, Int(oldest) - 1), waiting: 61 - oldest))
  }
}

@Suite("When the disk fails")
struct FailingDiskTests {
  let disk = SimulatedDisk()
  var fixture: LogFixture { LogFixture(directory: "/data", disk: disk) }

  @Test("a failed sync ends the log for good: all that waits is refused, and nothing is synced or written again")
  func failedSync() throws {
    let log = try fixture.open()
    log.put(0..<1)
    disk.failSync(after: 0)
    let boxes = [log.stage(1..<2), log.stage(2..<3)]
    log.syncInline()
    #expect(boxes.map(\.all) == [[.refused(.failed)], [.refused(.failed)]])
    guard case .failed(let detail) = log.health else {
      Issue.record("\(log.health)")
      return
    }
    #expect(detail.contains("can't sync /data/log/segment-000000000001.log"))
    let before = disk.operations
    #expect(log.put(3..<4) == .refused(.failed))
    log.close()
    #expect(disk.operations == before)
    // What was safe can still be read.
    #expect(log.health != .ok)
  }

  @Test("a write that fails ends the log for good too")
  func failedWrite() throws {
    let log = try fixture.open()
    let all = try log.subscribe("all", origin: .oldest)
    log.put(0..<1)
    disk.failWrite(after: 0, code: EIO)
    #expect(log.put(1..<2) == .refused(.failed))
    disk.clearFaults()
    #expect(log.put(2..<3) == .refused(.failed))
    #expect(try all.readAll(.all).count == 1)
    all.acknowledge(.all, 1...1, Tally(.delivered, 1))
    try all.commit(attachment: nil)
    #expect(all.ledger.isBalanced)
  }

  @Test("positions that can't be written say so, and free nothing")
  func failedCommit() throws {
    let log = try fixture.open()
    let all = try log.subscribe("all", origin: .oldest)
    for i in 0..<40 { log.put(i..<i + 1, size: 200) }
    let segments = log.statistics.segments
    all.acknowledge(.all, 1...40, Tally(.delivered, 40))
    disk.failSync(after: 0)
    do {
      try all.commit(attachment: nil)
      Issue.record("must fail")
    } catch { #expect("\(error)".contains("/data/positions/all.json")) }
    #expect(log.statistics.segments == segments)
    #expect(log.put(40..<41) == .stored(first: 41))
    try all.commit(attachment: nil)
    #expect(log.statistics.segments == 1)
  }

  @Test("durability os answers before the sync, and a clean end leaves nothing unsynced")
  func durabilityOS() throws {
    var fixture = fixture
    fixture.configuration.durability = .os
    var log = try fixture.open()
    #expect(log.put(0..<1) == .stored(first: 1))
    disk.failSync(after: 0)
    #expect(log.put(1..<2) == .stored(first: 2))
    disk.clearFaults()
    log.close()
    var random = SeededGenerator(seed: 1)
    disk.powerCycle(&random)
    log = try fixture.open()
    #expect(log.statistics.nextSequence == 3)
    #expect(log.statistics.corruptRecords == 0)
  }
}
