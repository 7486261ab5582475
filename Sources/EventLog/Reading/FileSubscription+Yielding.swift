import Observability

/// A destination that nobody works for: it holds what it was owed when that began, and gives up what came later when everybody
/// else is done with it.
extension FileSubscription {
  /// Holds what is owed of the events before a number, and no other any more.
  ///
  /// - Throws: ``LogError`` when a segment's directory can't be read; then it holds all that it is owed, as before.
  func yield(from sequence: UInt64) throws(LogError) {
    try monitor.withLock { () throws(LogError) in
      drain()
      let held = try catalog.lookThrough { () throws(LogError) in
        var held: [UInt64: Int] = [:]
        for lane in lanes.values where lane.pending > 0 && sequence > lane.marks.low + 1 {
          var cursor = DirectoryCursor(app: lane.app)
          for gap in lane.marks.unsettled(in: lane.marks.low + 1...sequence - 1) {
            try cursor.count(catalog, in: gap) { segment, events in held[segment.number, default: 0] += events }
          }
        }
        return held
      }
      yielding = Yielding(from: sequence, held: held.filter { $0.value > 0 })
    }
  }

  /// Whether it keeps any segment: not for what it would give up.
  var isHolding: Bool {
    monitor.withLock {
      drain()
      return yielding.map { !$0.held.isEmpty } ?? (waiting > 0)
    }
  }

  var isYielding: Bool { monitor.withLock { yielding != nil } }

  /// Whether it would give up all that it is owed of a segment.
  func yields(_ segment: Segment) -> Bool {
    monitor.withLock { yielding.map { $0.held[segment.number] == nil } ?? false }
  }

  /// Gives up what it doesn't hold of some segments: counted as dropped in its record, which is on disk before they go.
  ///
  /// - Returns: how many events that were.
  func giveUp(_ segments: [Segment]) throws(DiskError) -> Int {
    let segments = catalog.monitor.withLock {
      segments.map { (number: $0.number, numbers: $0.firstSequence..<$0.endSequence) }
    }
    return try commitMonitor.withLock { () throws(DiskError) in
      let given = monitor.withLock { () -> (record: PositionRecord, owed: [UInt64: Int], count: Int)? in
        guard let yielding, !isDiscarded else { return nil }
        drain()
        var count = 0
        for segment in segments {
          count += giveUp(
            segment.number, max(segment.numbers.lowerBound, yielding.from)..<segment.numbers.upperBound, yielding)
        }
        settled.add(.droppedRemoved, UInt64(count))
        owed = owed.filter { $0.value != 0 }
        // (A write that failed before left more in memory than there is on disk.)
        let isCommitted =
          count == 0
          && segments.allSatisfy {
            $0.numbers.upperBound <= committed.through
              && committedOwed[$0.number, default: 0] == owed[$0.number, default: 0]
          }
        return isCommitted ? nil : (record(attachment: committed.attachment), owed, count)
      }
      guard let given else { return 0 }
      try store.write(given.record)
      monitor.withLock {
        committed = given.record
        committedOwed = given.owed
      }
      return given.count
    }
  }

  private func giveUp(_ segment: UInt64, _ numbers: Range<UInt64>, _ yielding: Yielding) -> Int {
    let left = owed[segment, default: 0] - yielding.held[segment, default: 0]
    guard left > 0, !numbers.isEmpty else { return 0 }
    var count = 0
    for lane in lanes.values where lane.pending > 0 {
      count += settle(lane, numbers.lowerBound...numbers.upperBound - 1, assumed: left - count)
    }
    return count
  }
}

/// From which event on a destination yields, and how many it holds of each segment before that.
struct Yielding {
  var from: UInt64
  /// By the segment's number; none that is zero.
  var held: [UInt64: Int]
}

extension FileLog {
  /// The number that the next event gets.
  public var nextSequence: UInt64 { catalog.monitor.withLock { catalog.publishedEnd } }

  /// Whether a destination keeps any segment of the log: not for what it would give up.
  public func isHolding(_ destination: String) -> Bool {
    keeper.all.first { $0.destination == destination }?.isHolding ?? false
  }

  /// Has a destination hold nothing of the log that came from a number on: it is owed that as long as the log has it all the
  /// same, and what goes is counted as ``Outcome/droppedRemoved``. Until it is taken back, or the log is closed.
  ///
  /// - Throws: ``LogError`` when there is no such destination, or a segment's directory can't be read.
  public func yield(_ destination: String, from sequence: UInt64) throws(LogError) {
    guard let subscription = keeper.all.first(where: { $0.destination == destination }) else {
      throw LogError("there is no destination \(destination)")
    }
    try subscription.yield(from: sequence)
    keeper.free()
  }
}
