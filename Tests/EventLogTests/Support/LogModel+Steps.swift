import Clocks
import JSON
import Testing

@testable import EventLog

extension LogModel {
  /// One random day.
  mutating func run(steps count: Int) throws {
    try open()
    for _ in 0..<count {
      try step()
      if !faults.isEmpty { return }
    }
    try restart("close")
    try restart("power cut")
  }

  private mutating func step() throws {
    switch random.below(24) {
    case 0..<8: append()
    case 8..<12:
      note("sync")
      log.syncInline()
      settleOutcomes()
    case 12..<16: try read(random.below(readers.count))
    case 16..<19: acknowledge(random.below(readers.count))
    case 19: commit(random.below(readers.count))
    case 20:
      commit(random.below(readers.count))
      if random.once(in: 2) {
        note("maintenance")
        log.maintainInline()
      }
    case 21:
      if random.once(in: 3) {
        try restart(["close", "kill", "power cut"][random.below(3)])
      } else if random.once(in: 3) {
        try cutSoon()
      } else if random.once(in: 3) {
        try failSync()
      } else {
        rewind(random.below(readers.count))
      }
    case 22: if random.once(in: 8) { try corrupt() }
    default: if random.once(in: 6) { try fillDisk() }
    }
    for reader in readers {
      let ledger = reader.subscription.ledger
      if !ledger.isBalanced { fault("\(reader.name): the books don't balance: \(ledger)") }
    }
  }

  private mutating func append() {
    for _ in 0...random.below(4) {
      let count = 1 + random.below(random.once(in: 10) ? 40 : 4)
      let serials = nextSerial..<nextSerial + count
      nextSerial += count
      let app = ["ios", "android", "web"][random.once(in: 3) ? random.below(3) : 0]
      let size = 40 + random.below(random.once(in: 20) ? 3000 : 200)
      note("append \(app) \(serials) of \(size)")
      staged.append((app, serials, log.stage(app: app, serials, size: size)))
      settleOutcomes()
    }
  }

  private mutating func read(_ at: Int) throws {
    let lane: Lane
    if readers[at].isAll {
      lane = .all
    } else {
      guard let ready = readers[at].subscription.readyLanes().sorted(by: { $0.app! < $1.app! }).first else { return }
      lane = ready
    }
    let limit = ReadLimit(events: 1 + random.below(20), bytes: 1 + random.below(4000))
    guard try readers[at].subscription.read(lane, limit: limit, into: batch) else { return }
    note("\(readers[at].name) reads \(lane) \(batch.events.map(\.sequence))")
    if batch.events.isEmpty { fault("an empty batch") }
    if batch.events.count > limit.events { fault("more than the limit") }
    let before = readers[at].outstanding[lane] ?? []
    for event in batch.events {
      if stored[event.sequence] == nil && unknown.isEmpty { fault("\(event.sequence) was read before it was synced") }
      learn(event.sequence, serial: Int(event.index.idHigh), lane)
      if !readers[at].subscription.isIntact(event, batch) { fault("\(event.sequence) isn't itself") }
      if before.contains(event.sequence) { fault("\(event.sequence) was read twice") }
      if readers[at].now.settled.contains(event.sequence) { fault("\(event.sequence) was read though settled") }
    }
    readers[at].outstanding[lane] = before + batch.events.map(\.sequence)
  }

  private mutating func acknowledge(_ at: Int) {
    guard
      let lane = readers[at].outstanding.filter({ !$0.value.isEmpty }).keys.sorted(by: { "\($0)" < "\($1)" }).first,
      let read = readers[at].outstanding[lane]
    else { return }
    // A part of what was read, anywhere in it; the range covers all of the lane's events between.
    let from = random.once(in: 2) ? 0 : random.below(read.count)
    let to = min(read.count - 1, from + random.below(30))
    let outcome: Outcome = random.once(in: 5) ? .rejected : .delivered
    let before = readers[at].subscription.ledger
    readers[at].subscription.acknowledge(lane, read[from]...read[to], Tally(outcome, to - from + 1))
    let after = readers[at].subscription.ledger
    note("\(readers[at].name) settles \(lane) \(read[from])...\(read[to]) as \(outcome)")
    let settled = after.settled[outcome] - before.settled[outcome]
    // The log may have dropped some of them meanwhile.
    let mayDiffer = fixture.configuration.onFull == .dropOldest
    if settled != UInt64(to - from + 1) && !mayDiffer { fault("\(to - from + 1) were settled, \(settled) are counted") }
    readers[at].now.tally.add(outcome, settled)
    readers[at].now.settled.formUnion(read[from...to])
    readers[at].outstanding[lane]!.removeSubrange(from...to)
  }

  private mutating func commit(_ at: Int) {
    readers[at].commits += 1
    readers[at].now.number = readers[at].commits
    do {
      try readers[at].subscription.commit(attachment: ["commit": JSONValue(readers[at].commits)])
      readers[at].onDisk = [readers[at].now]
      note("\(readers[at].name) commits \(readers[at].commits)")
    } catch {
      readers[at].onDisk.append(readers[at].now)
      note("\(readers[at].name) fails to commit \(readers[at].commits)")
    }
  }

  private mutating func rewind(_ at: Int) {
    note("\(readers[at].name) rewinds")
    let lanes: [Lane] = readers[at].isAll ? [.all] : ["ios", "android", "web"].map { .app($0) }
    for lane in lanes { readers[at].subscription.rewind(lane) }
    readers[at].outstanding = [:]
  }

  /// Lets the power go in the middle of the next few things.
  private mutating func cutSoon() throws {
    let changes = random.below(12)
    note("power goes after \(changes) changes")
    disk.cutPower(afterChanges: changes)
    for _ in 0..<3 {
      append()
      log.syncInline()
      settleOutcomes()
      commit(random.below(readers.count))
    }
    try restart("power cut")
  }

  /// A sync fails: nothing more is taken in until the next start, and no second sync is tried.
  private mutating func failSync() throws {
    note("a sync fails")
    disk.failSync(after: random.below(2), code: random.once(in: 2) ? 28 : 5)
    append()
    log.syncInline()
    settleOutcomes()
    guard case .failed = log.health else {
      // It may have been that of a destination's record, written before a segment is dropped.
      if fixture.configuration.onFull == .reject && !disk.hasSyncToFail {
        fault("a failed sync left the log \(log.health)")
      }
      return disk.clearFaults()
    }
    let before = disk.operations
    let box = log.stage(nextSerial..<nextSerial + 1)
    log.syncInline()
    if box.all != [.refused(.failed)] { fault("a failed log said \(box.all)") }
    if disk.operations != before { fault("a failed log went on writing") }
    disk.clearFaults()
    try restart(random.once(in: 2) ? "kill" : "power cut")
  }

  /// The disk is full for a while.
  private mutating func fillDisk() throws {
    note("the disk fills up")
    disk.failWrite(after: random.below(3), code: 28)
    // Then some fail whole: of frames, or of the zeros that clear them away, or of positions.
    disk.refuseWrites(random.below(8), to: ["", "", "/log/", "/positions/"][random.below(4)])
    let before = unknown.count
    isDiskFull = true
    defer { isDiskFull = false }
    for _ in 0..<2 + random.below(4) {
      append()
      log.syncInline()
      settleOutcomes()
      if random.once(in: 3) { commit(random.below(readers.count)) }
      if random.once(in: 3) { log.maintainInline() }
    }
    // What was refused comes back only when the relay dies before it can clear it away.
    if random.once(in: 4) {
      // (After a failed sync the start needs space.)
      let isKill = !disk.paths.contains { $0.hasSuffix(SegmentName.failureSign) } && random.once(in: 2)
      if !isKill { disk.clearFaults() }
      return try restart(isKill ? "kill" : "power cut")
    }
    unknown.removeSubrange(before...)
    disk.clearFaults()
    if case .failed = log.health { fault("a full disk failed the log") }
    note("and has space again")
    let serials = nextSerial..<nextSerial + 1
    nextSerial += 1
    let box = log.stage(serials)
    log.syncInline()
    staged.append(("ios", serials, box))
    settleOutcomes()
    if case .stored = box.outcome {
    } else if fixture.configuration.onFull == .reject, log.health != .full {
      fault("the log didn't heal: \(String(describing: box.outcome)), \(log.health)")
    }
  }

  /// A byte of a segment rots.
  private mutating func corrupt() throws {
    let segments = disk.paths.filter { $0.contains("/segment-") }
    guard !segments.isEmpty else { return }
    let path = segments[random.below(segments.count)]
    let length = disk.bytes(of: path)!.count
    let from = random.below(length)
    // (A header that goes with the only frame behind it leaves nothing to tell by: a test of its own.)
    let header = SegmentHeader.size
    let count = min(random.once(in: 4) ? 1 + random.below(700) : 1, from < header ? header - from : length)
    note("\(count) bytes of \(path) rot at \(from)")
    var random = random
    disk.corrupt(path) { bytes in
      for at in from..<min(length, from + count) { bytes[at] ^= UInt8(1 + random.below(255)) }
    }
    self.random = random
    mayBeLost = true
    for at in readers.indices { readers[at].outstanding = [:] }
    // (Of the very last frame only a clean end tells that it was safe once.)
    try restart(path == segments.last || random.once(in: 2) ? "close" : "kill")
  }
}
