import JSON
import Clocks

/// A part of a destination's events that is read and acknowledged by itself.
public enum Lane: Sendable, Hashable {
  /// One app's events, in the order they came.
  case app(String)
  /// All apps' events, in the order they came.
  case all
  /// One app's events that are sent again, in the order they were put into the queue for that.
  case replayed(String)
  /// All apps' events that are sent again.
  case allReplayed

  public var app: String? {
    switch self {
    case .app(let name), .replayed(let name): name
    case .all, .allReplayed: nil
    }
  }

  public var isReplayed: Bool {
    switch self {
    case .app, .all: false
    case .replayed, .allReplayed: true
    }
  }

  /// The same apps' lane of the other kind: of events sent again for one of new ones, and the other way round.
  public var counterpart: Lane {
    switch self {
    case .app(let name): .replayed(name)
    case .replayed(let name): .app(name)
    case .all: .allReplayed
    case .allReplayed: .all
    }
  }
}

/// One destination's view of the log: what it has had, what it is owed, and the ledger of what became of it.
///
/// A destination reads a lane from its cursor on, and acknowledges ranges in any order; what is acknowledged and committed
/// is never handed out again, and frees segments. A destination uses either lanes by app or one for all, never both. Events
/// that are sent again come in lanes of their own, numbered for themselves, and disturb nothing of the others.
/// Any method may be called from any thread, but one lane is read by one thread at a time.
public protocol Subscription: AnyObject, Sendable {
  var destination: String { get }

  /// Called after each sync that brought events, and after each `close`; on the writer's thread: it must only wake somebody.
  func onProgress(_ wake: @escaping @Sendable () -> Void)

  /// The lanes by app with events after their cursor, in no particular order.
  /// Cheap when few lanes have any: it does not visit the others.
  func readyLanes() -> [Lane]

  /// The lanes by app that have something unacknowledged.
  func pendingLanes() -> [Lane]

  /// Reads on from the lane's cursor, over what is acknowledged, and moves the cursor.
  ///
  /// Fills `batch` with at least one event when there is one, however large, and with no more than the limit allows.
  /// An `identify` is handed out in a batch of its own when `limit.separatesKinds` is set. Only synced events are seen.
  /// Damaged frames are skipped, counted and logged; their events are tallied as `lost`.
  /// - Returns: false when there is nothing after the cursor.
  func read(_ lane: Lane, limit: ReadLimit, into batch: EventBatch) throws(LogError) -> Bool

  /// Reads given events again that were read and are not acknowledged, in ascending order; the cursor stays where it is.
  ///
  /// Fills `batch` as a reading on does, within the same limits, with the events of the ranges as far as they are still owed.
  /// - Returns: false when nothing of them is owed any more.
  func read(
    _ lane: Lane, again ranges: [ClosedRange<UInt64>], limit: ReadLimit, into batch: EventBatch
  ) throws(LogError) -> Bool

  /// Puts the cursor back to the oldest unacknowledged event: what was read and not acknowledged is read again.
  func rewind(_ lane: Lane)

  /// Takes a range of sequence numbers off what the lane is owed, saying what became of its events.
  ///
  /// The range covers all of the lane's events with numbers in it; the tally must count exactly those that were
  /// unacknowledged.
  func acknowledge(_ lane: Lane, _ range: ClosedRange<UInt64>, _ tally: Tally)

  /// Makes everything acknowledged so far durable, in one atomic write with the ledger and the attachment.
  ///
  /// - Parameter attachment: the destination's own record (open files, retry times); nil keeps the last one.
  func commit(attachment: JSONValue?) throws(LogError)

  /// The attachment as last committed.
  var attachment: JSONValue? { get }

  /// Events of the lane that are not acknowledged, and when the oldest of them was received.
  func pending(_ lane: Lane) -> Pending

  /// The same over all lanes.
  var pending: Pending { get }

  /// Bytes of the log from the lane's oldest unacknowledged event on: how far behind it is. 0 from a log that can't tell.
  func behindBytes(_ lane: Lane) -> Int

  /// How many of the events owed bear a date before a moment: `occurred_at`, or when they were received for those that
  /// were clamped. Reads what it must from disk: not for every second. Nil from a log that can't tell.
  ///
  /// - Parameter isWanted: which protocols' events are counted, by their numbers.
  func pendingEvents(
    datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool
  ) throws(LogError) -> Int?

  /// The earliest date of an event owed, as ``pendingEvents(datedBefore:ofDialects:)`` takes it; nil when none is owed, and from a log
  /// that can't tell. Reads what it must from disk.
  func earliestPendingDate(ofDialects isWanted: (UInt8) -> Bool) throws(LogError) -> Timestamp?

  /// The numbers of the lane's events that are owed, came by a wanted protocol and are dated before a moment, in ascending
  /// order: the first so many of them. Reads what it must from disk. None from a log that can't tell.
  func pendingNumbers(
    _ lane: Lane, datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool, atMost limit: Int
  ) throws(LogError) -> [UInt64]

  /// Which events are owed, and so will be handed out, of those that stand in a file with some numbers. All of them from a log
  /// that can't tell. Reads what it must from disk.
  ///
  /// A destination whose position was put back from a backup has lines behind the marks of its files that nobody will hand out
  /// again, and must not cut them off.
  func owed(among numbers: [UInt64]) throws(LogError) -> OwedNumbers

  /// Says that events stand in the destination's files that it isn't owed (``owed(among:)``): those that were counted as lost when
  /// the log was opened, since it no longer has them, count as delivered. Made durable with the next commit.
  func found(_ numbers: Set<UInt64>)

  /// What became of every event this destination was ever owed.
  var ledger: Ledger { get }

  /// Removes the destination's record: it is owed nothing more and holds no segment.
  func discard() throws(LogError)
}

extension Subscription {
  public func found(_ numbers: Set<UInt64>) {}
  public func owed(among numbers: [UInt64]) throws(LogError) -> OwedNumbers {
    OwedNumbers(new: Set(numbers).sorted(), among: numbers)
  }
  public func behindBytes(_ lane: Lane) -> Int { 0 }
  public func pendingEvents(
    datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool
  ) throws(LogError) -> Int? { nil }
  public func earliestPendingDate(ofDialects isWanted: (UInt8) -> Bool) throws(LogError) -> Timestamp? { nil }
  public func pendingNumbers(
    _ lane: Lane, datedBefore moment: Timestamp, ofDialects isWanted: (UInt8) -> Bool, atMost limit: Int
  ) throws(LogError) -> [UInt64] { [] }
}

public struct Pending: Sendable, Equatable {
  public var events: Int
  public var oldestReceivedAt: Timestamp?

  public init(events: Int, oldestReceivedAt: Timestamp?) {
    self.events = events
    self.oldestReceivedAt = oldestReceivedAt
  }
}

public struct ReadLimit: Sendable {
  public var events: Int
  /// Bytes of the events and one comma each; a single larger event is handed out all the same.
  public var bytes: Int
  /// A batch holds events or one identify call, never both.
  public var separatesKinds: Bool
  /// A batch holds events of one request of a sender, never of two.
  public var separatesRequests: Bool
  /// The batch ends before the first event numbered above this.
  public var lastSequence: UInt64

  public init(
    events: Int, bytes: Int, separatesKinds: Bool = false, separatesRequests: Bool = false,
    lastSequence: UInt64 = .max
  ) {
    self.separatesRequests = separatesRequests
    self.events = events
    self.bytes = bytes
    self.separatesKinds = separatesKinds
    self.lastSequence = lastSequence
  }
}

/// What became of events: one column of the ledger each. The names are part of the record's format.
public enum Outcome: String, Sendable, CaseIterable {
  case delivered
  case refused, rejected, tooLarge = "too_large", poison, expired, gaveUp = "gave_up"
  case filtered
  /// The oldest segment went because the log was full.
  case droppedLogFull = "dropped_log_full"
  /// The oldest went because the destination was further behind than its user allows.
  case droppedBehind = "dropped_behind"
  /// It came while the destination was configured no longer, and the log didn't have it any more when that changed.
  case droppedRemoved = "dropped_removed"
  /// Damaged on disk: gone, and named in the log.
  case lost

  /// Whether events of this outcome lie in the dead letters.
  public var isDeadLetter: Bool {
    switch self {
    case .refused, .rejected, .tooLarge, .poison, .expired, .gaveUp: true
    case .delivered, .filtered, .droppedLogFull, .droppedBehind, .droppedRemoved, .lost: false
    }
  }
}

/// Counts by outcome.
public struct Tally: Sendable, Equatable {
  public private(set) var counts: [Outcome: UInt64]

  public init(_ counts: [Outcome: UInt64] = [:]) { self.counts = counts.filter { $0.value > 0 } }

  public init(_ outcome: Outcome, _ count: Int) { self.init([outcome: UInt64(count)]) }

  public subscript(_ outcome: Outcome) -> UInt64 { counts[outcome] ?? 0 }

  public var total: UInt64 { counts.values.reduce(0, +) }

  public mutating func add(_ outcome: Outcome, _ count: UInt64 = 1) {
    if count > 0 { counts[outcome, default: 0] += count }
  }

  /// Has so many of one outcome, if there are, be of another.
  mutating func move(_ count: UInt64, from one: Outcome, to other: Outcome) {
    let moved = min(count, self[one])
    counts[one] = self[one] > moved ? self[one] - moved : nil
    add(other, moved)
  }

  public mutating func add(_ other: Tally) {
    for (outcome, count) in other.counts { add(outcome, count) }
  }
}

/// A destination's books: `accepted` is what it was ever owed, `replayed` what it was owed once more;
/// `accepted + replayed == settled.total + waiting`, always.
public struct Ledger: Sendable, Equatable {
  public var accepted: UInt64
  /// Events that were put into the destination's queue to be sent again, dead letters put back among them.
  public var replayed: UInt64
  /// Dead letters that were put back, by what they had been given up for: they are no longer dead letters, and stand in
  /// `settled` for the first time they were given up.
  public var putBack: Tally
  public var settled: Tally
  public var waiting: UInt64

  public init(accepted: UInt64, settled: Tally, waiting: UInt64, replayed: UInt64 = 0, putBack: Tally = Tally()) {
    self.accepted = accepted
    self.replayed = replayed
    self.putBack = putBack
    self.settled = settled
    self.waiting = waiting
  }

  /// Gone by a rule the user chose.
  public var dropped: UInt64 { settled[.droppedLogFull] + settled[.droppedBehind] + settled[.droppedRemoved] }
  /// Events that were given up and not put back since, by reason.
  public func deadLettered(_ reason: Outcome) -> UInt64 { settled[reason] - min(settled[reason], putBack[reason]) }

  public var deadLettered: UInt64 { Outcome.allCases.reduce(0) { $1.isDeadLetter ? $0 + deadLettered($1) : $0 } }
  /// Past events that were sent again, dead letters that were put back left out.
  public var sentAgain: UInt64 { replayed - min(replayed, putBack.total) }
  public var isBalanced: Bool { accepted + replayed == settled.total + waiting }
}
