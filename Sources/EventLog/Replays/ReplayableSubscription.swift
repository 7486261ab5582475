import Clocks
import JSON
import Synchronization

/// A destination's view of the log together with its queue of events that are sent again, when it has one.
///
/// Which of the two a call is for, the lane tells; positions, counts and attachment of both are made durable in one atomic
/// write, so that a destination that is exactly-once is so for events sent again too.
final class ReplayableSubscription: Subscription {
  private let main: FileSubscription
  private struct State {
    var queue: ReplayQueue?
    var wake: (@Sendable () -> Void)?
  }
  private let state = Mutex(State())
  /// One commit at a time.
  private let committing = Monitor()

  init(_ main: FileSubscription) { self.main = main }

  func isView(of subscription: FileSubscription) -> Bool { main === subscription }

  var destination: String { main.destination }
  var queue: ReplayQueue? { state.withLock { $0.queue } }

  func attach(_ queue: ReplayQueue) {
    state.withLock { state in
      state.queue = queue
      if let wake = state.wake { queue.subscription.onProgress(wake) }
    }
  }

  func onProgress(_ wake: @escaping @Sendable () -> Void) {
    main.onProgress(wake)
    state.withLock { state in
      state.wake = wake
      state.queue?.subscription.onProgress(wake)
    }
  }

  // MARK: Lanes

  /// Whose lane it is, and what it is called there; nil when there is no queue that it could be of.
  private func place(of lane: Lane) -> (FileSubscription, Lane)? {
    lane.isReplayed ? queue.map { ($0.subscription, lane.counterpart) } : (main, lane)
  }

  func owed(among numbers: [UInt64]) throws(LogError) -> OwedNumbers {
    var owed = try main.owed(among: numbers)
    if let queue { owed.again = try queue.subscription.owedAgain(owed.others) }
    return owed
  }

  func found(_ numbers: Set<UInt64>) { main.found(numbers) }

  func readyLanes() -> [Lane] {
    let lanes = main.readyLanes()
    guard let queue else { return lanes }
    return lanes + queue.subscription.readyLanes().map(\.counterpart)
  }

  func pendingLanes() -> [Lane] {
    let lanes = main.pendingLanes()
    guard let queue else { return lanes }
    return lanes + queue.subscription.pendingLanes().map(\.counterpart)
  }

  func read(_ lane: Lane, limit: ReadLimit, into batch: EventBatch) throws(LogError) -> Bool {
    guard let (subscription, lane) = place(of: lane) else {
      batch.removeAll()
      return false
    }
    return try subscription.read(lane, limit: limit, into: batch)
  }

  func read(
    _ lane: Lane, again ranges: [ClosedRange<UInt64>], limit: ReadLimit, into batch: EventBatch
  ) throws(LogError) -> Bool {
    guard let (subscription, lane) = place(of: lane) else {
      batch.removeAll()
      return false
    }
    return try subscription.read(lane, again: ranges, limit: limit, into: batch)
  }

  func rewind(_ lane: Lane) {
    if let (subscription, lane) = place(of: lane) { subscription.rewind(lane) }
  }

  func acknowledge(_ lane: Lane, _ range: ClosedRange<UInt64>, _ tally: Tally) {
    if let (subscription, lane) = place(of: lane) { subscription.acknowledge(lane, range, tally) }
  }

  func pending(_ lane: Lane) -> Pending {
    guard let (subscription, lane) = place(of: lane) else { return Pending(events: 0, oldestReceivedAt: nil) }
    return subscription.pending(lane)
  }

  func behindBytes(_ lane: Lane) -> Int {
    place(of: lane).map { subscription, lane in subscription.behindBytes(lane) } ?? 0
  }

  /// The age is that of new events: one that is sent again after a year doesn't wait for a year.
  var pending: Pending {
    var pending = main.pending
    if let queue { pending.events += queue.subscription.pending.events }
    return pending
  }

  func pendingEvents(
    datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool
  ) throws(LogError) -> Int? {
    let count = try main.pendingEvents(datedBefore: moment, ofDialects: isWanted)
    guard let queue, let again = try queue.subscription.pendingEvents(datedBefore: moment, ofDialects: isWanted)
    else { return count }
    return count.map { $0 + again }
  }

  func earliestPendingDate(ofDialects isWanted: (UInt8) -> Bool) throws(LogError) -> Timestamp? {
    let dates = [
      try main.earliestPendingDate(ofDialects: isWanted),
      try queue?.subscription.earliestPendingDate(ofDialects: isWanted),
    ]
    return dates.compactMap { $0 }.min()
  }

  func pendingNumbers(
    _ lane: Lane, datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool, atMost limit: Int
  ) throws(LogError) -> [UInt64] {
    guard let (subscription, lane) = place(of: lane) else { return [] }
    return try subscription.pendingNumbers(lane, datedBefore: moment, ofDialects: isWanted, atMost: limit)
  }

  // MARK: The books

  var attachment: JSONValue? { main.attachment }

  var ledger: Ledger {
    var ledger = main.ledger
    guard let queue else { return ledger }
    let again = queue.subscription.ledger
    ledger.replayed = again.accepted
    ledger.settled.add(again.settled)
    ledger.waiting += again.waiting
    ledger.putBack = queue.putBack
    return ledger
  }

  /// The destination's record takes the queue's along; the queue's own follows. After a crash between the two the queue
  /// begins with the destination's.
  func commit(attachment: JSONValue?) throws(LogError) {
    try committing.withLock { () throws(LogError) in
      guard let queue else { return try main.commit(attachment: attachment) }
      let snapshot = queue.subscription.snapshot()
      try main.commit(attachment: attachment, replays: snapshot.record.json)
      try queue.subscription.commit(snapshot)
    }
  }

  func discard() throws(LogError) {
    try main.discard()
    guard
      let queue = state.withLock({ state in
        defer { state.queue = nil }
        return state.queue
      })
    else { return }
    queue.log.close()
    try queue.removeFiles()
  }
}
