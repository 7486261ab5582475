import Clocks
import Glibc
import JSON
import Observability

extension FileSubscription {
  func acknowledge(_ lane: Lane, _ range: ClosedRange<UInt64>, _ tally: Tally) {
    monitor.withLock {
      drain()
      guard let state = state(lane) else { return }
      let count = settle(state, range, assumed: Int(clamping: tally.total))
      settled.add(fit(tally, to: UInt64(count)))
    }
  }

  /// Makes a tally count exactly what was settled.
  ///
  /// They differ when the log dropped some of the events while they were on their way: then these stand in the books as
  /// dropped, and what the destination says of them comes too late.
  private func fit(_ tally: Tally, to count: UInt64) -> Tally {
    if tally.total == count { return tally }
    if tally.total < count {
      logger.error(
        "fewer outcomes than events were acknowledged: the rest is counted as lost", about: destination,
        ["events": .integer(Int(count)), "outcomes": .integer(Int(tally.total))])
      var tally = tally
      tally.add(.lost, count - tally.total)
      return tally
    }
    var left = count
    var fitted = Tally()
    for outcome in Outcome.allCases.reversed() {
      let part = min(left, tally[outcome])
      fitted.add(outcome, part)
      left -= part
    }
    return fitted
  }

  /// Takes a range off what a lane is owed; returns how many events that were.
  ///
  /// - Parameter assumed: how many they are when the directories can't be read.
  func settle(_ lane: LaneState, _ range: ClosedRange<UInt64>, assumed: Int) -> Int {
    guard range.lowerBound < seen, lane.pending > 0 else { return 0 }
    let range = range.lowerBound...min(range.upperBound, seen - 1)
    var count: Int
    do throws(LogError) {
      let found = try countUnsettled(lane, range)
      count = found.values.reduce(0, +)
      for (segment, events) in found { owed[segment, default: 0] -= events }
    } catch {
      logger.warning("a segment's directory can't be read", about: destination, ["why": .text(error.description)])
      count = assumed
    }
    count = min(count, lane.pending)
    guard count > 0 else { return 0 }
    lane.pending -= count
    lane.marks.above.insert(range)
    advance(lane)
    return count
  }

  /// Events of a range that are not settled, by the number of their segment.
  private func countUnsettled(_ lane: LaneState, _ range: ClosedRange<UInt64>) throws(LogError) -> [UInt64: Int] {
    try catalog.lookThrough { () throws(LogError) in
      var found: [UInt64: Int] = [:]
      for gap in lane.marks.unsettled(in: range) {
        try lane.directory.count(catalog, in: gap) { segment, events in
          if events > 0 { found[segment.number, default: 0] += events }
        }
      }
      return found
    }
  }

  /// Moves the low-water mark over what is settled.
  private func advance(_ lane: LaneState) {
    if lane.pending == 0 { return settleEmpty(lane) }
    while let first = lane.marks.above.first, let oldest = oldest(lane), oldest.sequence >= first.lowerBound {
      lane.marks.settle(through: max(first.upperBound, oldest.sequence - 1))
      lane.oldest = nil
    }
    if !lane.isReady { ready.remove(lane.app) }
  }

  /// Nothing of the lane is owed: its positions come down to one number.
  func settleEmpty(_ lane: LaneState) {
    lane.marks.settle(through: max(lane.last, lane.marks.above.last?.upperBound ?? 0))
    lane.oldest = nil
    ready.remove(lane.app)
  }

  /// The lane's oldest event that is not settled.
  func oldest(_ lane: LaneState) -> (sequence: UInt64, receivedAt: Timestamp)? {
    if let oldest = lane.oldest { return oldest }
    guard lane.pending > 0, (try? lane.directory.seek(catalog, to: lane.marks.low + 1)) == true,
      let segment = lane.directory.segment, let entry = try? lane.directory.entry(catalog)
    else { return nil }
    let sequence = max(entry.first(in: segment), lane.marks.low + 1)
    lane.oldest = (sequence, entry.receivedAt(in: segment))
    return lane.oldest
  }

  func rewind(_ lane: Lane) {
    monitor.withLock {
      drain()
      guard let state = state(lane) else { return }
      state.cursor = state.marks.low + 1
      state.epoch += 1
      if state.isReady { ready.insert(state.app) }
    }
  }

  // MARK: On disk

  func commit(attachment: JSONValue?) throws(LogError) { try commit(attachment: attachment, replays: nil) }

  /// Commits, with the record of the queue of events that are sent again in the same write; nil keeps the last one.
  func commit(attachment: JSONValue?, replays: JSONValue?) throws(LogError) {
    try commit {
      var record = self.record(attachment: attachment ?? committed.attachment)
      record.replays = replays ?? committed.replays
      return (record, owed)
    }
  }

  /// What would be committed now, for a commit in two steps.
  func snapshot() -> (record: PositionRecord, owed: [UInt64: Int]) {
    monitor.withLock {
      drain()
      prune()
      return (record(attachment: committed.attachment), owed)
    }
  }

  /// Commits what was to be committed a moment ago, unless it is on disk already.
  func commit(_ snapshot: (record: PositionRecord, owed: [UInt64: Int])) throws(LogError) {
    if monitor.withLock({ committed == snapshot.record }) { return }
    try commit { snapshot }
  }

  private func commit(_ make: () -> (PositionRecord, [UInt64: Int])) throws(LogError) {
    try commitMonitor.withLock { () throws(LogError) in
      let (record, owed): (PositionRecord, [UInt64: Int]) = monitor.withLock {
        drain()
        prune()
        return make()
      }
      if monitor.withLock({ isDiscarded }) { throw LogError("destination \(destination) was removed") }
      try asLogError { () throws(DiskError) in try store.write(record) }
      monitor.withLock {
        committed = record
        committedOwed = owed
      }
    }
    didCommit()
  }

  /// Lets go of lanes that nobody has needed for a while, so that apps that come and go don't pile up.
  private func prune() {
    owed = owed.filter { $0.value != 0 }
    guard lanes.count > 64 else { return }
    lanes = lanes.filter { $0.value.pending > 0 || $0.value.last + 100_000 > seen }
  }

  /// What is to be kept, as it stands.
  func record(attachment: JSONValue?) -> PositionRecord {
    var record = PositionRecord(destination: destination, mode: mode, through: seen)
    for lane in lanes.values where lane.pending > 0 {
      record.lanes[catalog.names.name(of: lane.app)] = lane.marks
    }
    record.settled = settled
    record.logAccepted = catalog.monitor.withLock { catalog.acceptedEvents }
    record.acceptedBase = acceptedBase
    record.countersSince = countersSince
    record.attachment = attachment
    record.replays = committed.replays
    return record
  }

  func discard() throws(LogError) {
    try commitMonitor.withLock { () throws(LogError) in
      try asLogError { () throws(DiskError) in try store.remove(destination) }
      monitor.withLock { isDiscarded = true }
    }
    didDiscard(self)
  }

  /// Whether nothing in a segment is owed, as far as is on disk.
  func frees(_ segment: Segment, end: UInt64) -> Bool {
    monitor.withLock { end <= committed.through && committedOwed[segment.number, default: 0] == 0 }
  }
}

extension FileSubscription {
  /// Makes a new destination known for good, so that what it isn't owed stays so over a crash.
  func writeFirstRecord() throws(LogError) {
    let record = monitor.withLock { self.record(attachment: nil) }
    try asLogError { () throws(DiskError) in try store.write(record) }
    monitor.withLock { committed = record }
  }
}
