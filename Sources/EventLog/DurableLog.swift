import Clocks

/// The port behind which events are kept: the file log here, a replicated log elsewhere.
///
/// Nothing outside this module may assume files, contiguous numbers, or that an event is handed out only once.
public protocol DurableLog: AnyObject, Sendable {
  /// Stores the draft's events together.
  ///
  /// `completion` is called exactly once, on any thread, possibly before `append` returns: with `.stored` only after the
  /// events are on stable storage (as the configured durability has it). It must not block and must not call `append`.
  /// May wait a moment when much more is coming in than the disk takes.
  func append(_ draft: borrowing FrameDraft, completion: @escaping @Sendable (AppendOutcome) -> Void)

  /// Opens (or makes) a destination's view of the log: its positions, counts and attachment as last committed.
  ///
  /// - Parameter origin: where a destination that is not known yet begins.
  /// - Throws: ``LogError`` when its record can't be read or another subscription of this name is open.
  func subscribe(_ destination: String, origin: SubscriptionOrigin) throws(LogError) -> any Subscription

  /// Names of destinations with a record on disk, open or not.
  var knownDestinations: [String] { get }

  /// What the log can do now; readiness is made of it.
  var health: LogHealth { get }

  /// Sizes and positions, for `/status` and metrics.
  var statistics: LogStatistics { get }

  /// When the newest record was received, as found at start; nil in an empty log. A clock before it is plainly wrong.
  var newestRecordAtStart: Timestamp? { get }

  /// Stops taking events, syncs what came, commits nothing more for subscriptions, and closes. Idempotent.
  func close()
}

/// Whether the events of one `append` are safe.
public enum AppendOutcome: Sendable, Equatable {
  /// On stable storage; the number of the first of them, the others follow it.
  case stored(first: UInt64)
  /// Not stored, and nothing of it will be: try again later.
  case refused(AppendRefusal)
}

public enum AppendRefusal: String, Sendable, Equatable {
  /// The log has reached `max_size` and `on_full` is `reject`.
  case logFull
  /// The disk is full, or has less left than `min_free_disk`.
  case diskFull
  /// A write or sync failed: the log takes nothing more until the process is started again.
  case failed
  /// The log is closing.
  case closed
}

public enum SubscriptionOrigin: Sendable {
  /// Everything that is still in the log is owed, but for what had been settled by all and is only kept for replay.
  case oldest
  /// Only what comes from now on is owed.
  case newest
}

public enum LogHealth: Sendable, Equatable {
  case ok
  case full
  case diskFull(detail: String)
  case failed(detail: String)
  case closed
}

public struct LogStatistics: Sendable, Equatable {
  /// Bytes of all segments that hold something, spare ones left out.
  public var sizeBytes: Int
  /// Bytes of those among them that nobody is owed anything of: kept for replay until they are old or room is needed.
  public var retainedBytes: Int
  public var maxSizeBytes: Int
  public var segments: Int
  public var spareSegments: Int
  /// The number of the oldest event still in the log, and the number the next event gets. Equal when nothing is kept.
  public var oldestSequence, nextSequence: UInt64
  public var oldestReceivedAt: Timestamp?
  /// Events that came in since the data directory was made: exact for ever.
  public var acceptedEvents: UInt64
  public var droppedEvents: UInt64
  public var corruptRecords: UInt64
  /// Since when something waits for the writer, nil when nothing does: a stuck disk shows here.
  public var appendWaitingSince: ContinuousClock.Instant?

  public init(
    sizeBytes: Int, maxSizeBytes: Int, segments: Int, spareSegments: Int, oldestSequence: UInt64, nextSequence: UInt64,
    oldestReceivedAt: Timestamp?, acceptedEvents: UInt64, droppedEvents: UInt64, corruptRecords: UInt64,
    appendWaitingSince: ContinuousClock.Instant?, retainedBytes: Int = 0
  ) {
    self.sizeBytes = sizeBytes
    self.retainedBytes = retainedBytes
    self.maxSizeBytes = maxSizeBytes
    self.segments = segments
    self.spareSegments = spareSegments
    self.oldestSequence = oldestSequence
    self.nextSequence = nextSequence
    self.oldestReceivedAt = oldestReceivedAt
    self.acceptedEvents = acceptedEvents
    self.droppedEvents = droppedEvents
    self.corruptRecords = corruptRecords
    self.appendWaitingSince = appendWaitingSince
  }
}

/// What went wrong with the log, in words for its operator: what, where, and what to do.
public struct LogError: Error, Sendable, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}
