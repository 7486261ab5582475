import Clocks
import Observability

/// The log in files of one directory: see `FORMAT.md` for what lies there, and ``RecoveryDecision`` for how it is read
/// after a crash.
///
/// One thread writes and syncs, another prepares files ahead. Close it before letting go of it.
public final class FileLog: DurableLog {
  let keeper: LogKeeper
  let writer: LogWriter
  let catalog: SegmentCatalog
  let files: SegmentFiles
  /// Watches `min_free_disk` for the log; sinks on the same file system pause with it.
  public let freeSpace: FreeSpace
  let corruptRecords: Counter
  let context: LogReadingContext
  let tuning: FileLogTuning
  let logger: Logger
  /// The queues of events that are sent again; nil in a log that has no place for them.
  let replays: ReplayQueues?
  private let maintenance: LogMaintenance
  private let threads: [OwnThread]
  public let newestRecordAtStart: Timestamp?
  /// Torn writes that were cut off at start.
  let tornWrites: Int

  init(
    keeper: LogKeeper, writer: LogWriter, freeSpace: FreeSpace, corruptRecords: Counter, context: LogReadingContext,
    tuning: FileLogTuning, logger: Logger, newestRecordAtStart: Timestamp?, tornWrites: Int,
    replays: ReplayQueues?
  ) throws(LogError) {
    self.keeper = keeper
    self.writer = writer
    catalog = keeper.catalog
    files = keeper.files
    self.freeSpace = freeSpace
    self.corruptRecords = corruptRecords
    self.context = context
    self.tuning = tuning
    self.logger = logger
    self.newestRecordAtStart = newestRecordAtStart
    self.tornWrites = tornWrites
    self.replays = replays
    maintenance = LogMaintenance(keeper: keeper)
    if tuning.isInline {
      threads = []
    } else {
      let maintenance = maintenance
      threads = [
        try OwnThread(name: "log-writer") { writer.run() },
        try OwnThread(name: "log-ahead") { maintenance.run() },
      ]
    }
  }

  /// Ends the threads. Only ``close()`` also leaves the mark of a clean end.
  deinit { stop() }

  public func append(_ draft: borrowing FrameDraft, completion: @escaping @Sendable (AppendOutcome) -> Void) {
    writer.append(draft, completion: completion)
  }

  public func subscribe(_ destination: String, origin: SubscriptionOrigin) throws(LogError) -> any Subscription {
    let subscription = try fileSubscription(destination, origin: origin)
    return if let replays { try replays.subscription(subscription) } else { subscription }
  }

  /// The destination's view of this log alone.
  func fileSubscription(_ destination: String, origin: SubscriptionOrigin) throws(LogError) -> FileSubscription {
    guard PositionRecord.isName(destination) else {
      throw LogError(
        "a destination can't be called \"\(destination.prefix(80))\": its name has 1 to 64 letters, digits, - and _")
    }
    if let known = try keeper.take(destination) { return known }
    try create(destination, origin)
    guard let created = try keeper.take(destination) else { throw LogError("destination \(destination) was removed") }
    return created
  }

  private func create(_ destination: String, _ origin: SubscriptionOrigin) throws(LogError) {
    try keeper.add { () throws(LogError) in
      let end = catalog.monitor.withLock { catalog.publishedEnd }
      let through =
        switch origin {
        case .oldest: keeper.oldestOwed
        case .newest: end
        }
      let subscription = try subscription(PositionRecord(destination: destination, through: through), isNew: true)
      try subscription.writeFirstRecord()
      return subscription
    }
  }

  public var knownDestinations: [String] { keeper.destinations }

  /// Syncs what is staged on the calling thread: for logs without threads. One that has a writer is never written by two.
  func syncInline() {
    guard tuning.isInline else { return }
    while writer.runRound() {}
  }

  /// Rewrites segments that hold little, on the calling thread: for logs without threads.
  func maintainInline() { maintenance.lookInline() }

  public func close() {
    replays?.close()
    let isFirst = writer.monitor.withLock { !writer.isClosed }
    if tuning.isInline { syncInline() }
    stop()
    if isFirst { writer.leaveMark() }
  }

  private func stop() {
    maintenance.stop()
    writer.stop()
    for thread in threads { thread.join() }
  }
}
