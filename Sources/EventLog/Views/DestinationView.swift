import Clocks
import JSON

/// What one destination has had, is owed and has in its books, recomputed from its record and the log's segments.
public struct DestinationView: Sendable {
  let record: PositionRecord
  let catalog: SegmentCatalog
  let queue: QueueView?

  public var name: String { record.destination }
  /// The destination's own record, as committed.
  public var attachment: JSONValue? { record.attachment }
  /// When the books began anew because the record before was damaged; nil when they are whole.
  public var countersSince: Timestamp? { record.countersSince }
  /// Dead letters that are on their way back into the queue just now, or were when a crash came.
  public var unsettledReplays: Int { queue?.unsettled ?? 0 }

  /// The books as the files give them.
  public struct Books: Sendable, Equatable {
    public var ledger: Ledger
    /// Events the books are owed and nobody has: what was accepted and is neither settled nor in the log. Negative: the
    /// record counts more than the log ever took in.
    public var missing = 0
    /// The same of the queue of events that are sent again.
    public var missingReplays = 0
    /// Bytes of the log's segments with an event that waits here, from the oldest such on: what the destination keeps from
    /// being freed.
    public var heldBytes = 0
    /// Waiting events by app, those that are sent again among them.
    public var waitingByApp: [String: Int] = [:]
  }

  /// Counts what waits in the segments, and sets it against the record's counts and the log's own.
  ///
  /// - Throws: ``LogError`` when a segment can't be read, or went meanwhile.
  public func books() throws(LogError) -> Books {
    let main = try count(record, catalog)
    var books = Books(ledger: main.ledger, missing: main.missing, heldBytes: main.held, waitingByApp: main.byApp)
    guard let queue else { return books }
    let again = try count(queue.record, queue.catalog)
    books.missingReplays = again.missing
    books.ledger.replayed = again.ledger.accepted
    books.ledger.settled.add(again.ledger.settled)
    books.ledger.waiting += again.ledger.waiting
    books.ledger.putBack = queue.putBack
    for (app, count) in again.byApp { books.waitingByApp[app, default: 0] += count }
    return books
  }

  /// How many events wait with numbers before one: what a destination holds that was removed then.
  ///
  /// - Throws: ``LogError`` when a segment can't be read, or went meanwhile.
  public func waiting(before sequence: UInt64) throws(LogError) -> Int {
    let subscription = try subscription(record, catalog)
    try subscription.yield(from: sequence)
    return subscription.monitor.withLock { subscription.yielding?.held.values.reduce(0, +) ?? 0 }
  }

  private func subscription(
    _ record: PositionRecord, _ catalog: SegmentCatalog
  ) throws(LogError) -> FileSubscription {
    let context = LogReadingContext(catalog: catalog) { _, _ in }
    // (Nothing is ever committed: it is of no matter where to.)
    let store = PositionStore(directory: catalog.directory, disk: catalog.disk, logger: .silent)
    return try FileSubscription(
      record, isNew: true, context: context, store: store, tuning: FileLogTuning(), logger: .silent, didCommit: {},
      didDiscard: { _ in })
  }

  private struct Count {
    var ledger: Ledger
    var missing: Int
    var held: Int
    var byApp: [String: Int] = [:]
  }

  private func count(_ record: PositionRecord, _ catalog: SegmentCatalog) throws(LogError) -> Count {
    let subscription = try subscription(record, catalog)
    let total = catalog.monitor.withLock { catalog.acceptedEvents }
    let known = Int64(bitPattern: total) - record.acceptedBase
    var ledger = subscription.ledger
    let found = Int64(bitPattern: ledger.accepted)
    ledger.accepted = UInt64(max(0, known))
    var count = Count(ledger: ledger, missing: Int(known - found), held: subscription.heldBytes)
    for lane in subscription.pendingLanes() {
      count.byApp[lane.app ?? "", default: 0] += subscription.pending(lane).events
    }
    return count
  }
}

extension DestinationView {
  /// What became of an event as far as positions tell.
  public enum Standing: Sendable, Equatable {
    /// It waits to be sent, or is being sent.
    case owed
    /// It was delivered, given up, filtered, dropped or lost.
    case settled
    /// The destination came after it.
    case neverOwed
  }

  /// - Parameter place: how many events the log had taken in before this one; nil when that isn't known.
  public func standing(app: String, _ sequence: UInt64, place: UInt64?) -> Standing {
    if sequence >= record.through { return .owed }
    if !record.marks(of: record.mode == .all ? "" : app).isSettled(sequence) { return .owed }
    if let place, Int64(bitPattern: place) < record.acceptedBase { return .neverOwed }
    return .settled
  }

  /// The same of an event that is sent again, by its number in the queue.
  func standingReplayed(app: String, _ sequence: UInt64) -> Standing {
    guard let record = queue?.record, sequence < record.through else { return .owed }
    return record.marks(of: record.mode == .all ? "" : app).isSettled(sequence) ? .settled : .owed
  }

  /// Counts of what was settled, in the log and in the queue together: what is zero can't have become of an event.
  public var settled: Tally {
    var tally = record.settled
    if let queue { tally.add(queue.record.settled) }
    return tally
  }
}

extension DestinationView {
  /// Whether the queue of events that are sent again has files of its own now.
  public var hasReplaySegments: Bool { !(queue?.catalog.all.isEmpty ?? true) }
}
