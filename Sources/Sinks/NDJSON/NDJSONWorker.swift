import Clocks
import EventLog
import Observability
import Records

/// Writes a sink's events into line files, a step at a time: what the sink's thread does, without the thread.
///
/// Exactly once: events are read, written, synced, and only then acknowledged and committed together with the files'
/// lengths. Whatever fails in between, every file is cut back to its committed length and the events are read again. A new
/// file is committed, empty, before the first line goes into it.
///
/// Not thread-safe; lives on the sink's thread. Blocks in file calls.
final class NDJSONWorker: SinkWorker {
  /// Lines are synced at latest so long after they were written, or when so many bytes wait for it.
  static let syncInterval: Duration = .seconds(1)
  static let syncBytes = 8 << 20
  /// How often the files are looked for under their names, and the disk's free space asked about.
  static let lookInterval: Duration = .seconds(1)
  static let readLimit = ReadLimit(events: 1000, bytes: 256 * 1024)
  /// Apps whose place is remembered; past it the longest silent ones begin another file when they come back.
  static let appsMax = 2048

  let reader: SinkReader
  let policy: RotationPolicy
  let retention: RetentionPolicy?
  let system: FileSystem
  let clock: WallClock
  let logger: Logger
  let isDiskLow: @Sendable () -> Bool
  /// Files that are open at once; an app that is silent needs none.
  let openFilesMax: @Sendable () -> Int
  let lines: RecordLines

  /// Each app's files, or those of all under no name; nil until the position was read.
  var files: [String: LineFiles]?
  /// Counts batches.
  var turn = 0
  /// Something was acknowledged, or a file begun or left, since the last commit.
  var needsCommit = false
  /// After a failure: what was written and not committed is to be cut off and read again.
  var needsRewind = true

  private var troubles = SinkTroubles()
  var syncDue: ContinuousClock.Instant?
  private var lookDue: ContinuousClock.Instant?
  private var sweepDue: ContinuousClock.Instant?

  init(_ options: NDJSONOptions, _ context: SinkContext, system: FileSystem = .system) {
    reader = SinkReader(context.subscription, context.common, logger: context.logger)
    isDiskLow = context.isDiskLow
    openFilesMax = context.openFilesMax
    clock = context.clock
    logger = context.logger
    self.system = system
    policy = RotationPolicy(pattern: options.pattern, size: options.rotation.size, every: options.rotation.every)
    retention = options.retention.map { RetentionPolicy(retention: $0) }
    lines = RecordLines(relay: context.relay, capacity: 384 * 1024)
  }

  var subscription: any Subscription { reader.subscription }
  var condition: SinkCondition { troubles.condition }

  func step(now: ContinuousClock.Instant, settles: Bool) -> SinkStep {
    sweepIfDue(now)
    let isLookDue = lookDue.map { now >= $0 } ?? true
    if isLookDue { lookDue = now + Self.lookInterval }
    do throws(NDJSONFailure) {
      if isLookDue, reader.isTooFarBehind { try giveUpOldest() }
      if let retryAt = troubles.retryAt, now < retryAt { return rest(until: retryAt) }
      if needsRewind { try recover() }
      if needsCommit { try commit() }
      if isLookDue { try lookAround() }
      let hasRead = try writeBatch(now)
      // A failure is over only when a sync has worked: not waited for then.
      if isSyncDue(now) || (settles && !hasRead) || troubles.isFailing { try settle() }
      if !reader.hasUnacknowledged { troubles.end(logger, about: subscription.destination) }
      return hasRead ? .again : .wait(until: min(syncDue ?? lookDue!, lookDue!))
    } catch {
      return noteFailure(error, now)
    }
  }

  /// Settles what is written, as the last thing before the files are closed.
  func finish() {
    do throws(NDJSONFailure) {
      if !needsRewind { try settle() }
    } catch {
      _ = noteFailure(error, .now)
    }
    files = nil
  }

  private func isSyncDue(_ now: ContinuousClock.Instant) -> Bool {
    guard let syncDue else { return false }
    return now >= syncDue || files?.values.reduce(0) { $0 + ($1.current?.unsyncedBytes ?? 0) } ?? 0 >= Self.syncBytes
  }

  /// Lets go of the oldest events when the sink is too far behind, also while it can't write: that is when it falls behind.
  private func giveUpOldest() throws(NDJSONFailure) {
    // What was written and not acknowledged is cut off before it is dropped, unless that fails, too.
    if needsRewind, (try? recover()) == nil { reader.rewind() }
    if !needsRewind { try settle() }
    do throws(LogError) {
      try reader.dropBehind()
      // What is acknowledged and not yet committed must not be without its files' lengths. Before the position was read
      // there is no such thing.
      if files == nil { try subscription.commit(attachment: nil) }
    } catch {
      throw .log(error)
    }
    try commit()
  }

  private func lookAround() throws(NDJSONFailure) {
    let isChanged = files?.values.contains { files in
      guard let file = files.current, file.open != nil else { return false }
      return (try? file.look(on: system)) != .unchanged
    }
    if isChanged == true { try settle() }
    guard isDiskLow() else { return }
    try settle()
    throw .diskLow
  }

  private func sweepIfDue(_ now: ContinuousClock.Instant) {
    guard let retention, sweepDue.map({ now >= $0 }) ?? true else { return }
    let isFirst = sweepDue == nil
    sweepDue = now + RetentionPolicy.interval
    if isFirst, let newest = (try? LinePosition(subscription.attachment))?.apps.map(\.state.newest).max(),
      RetentionPolicy.waitsForClock(newest: newest, now: clock.now)
    {
      logger.warning(
        "the clock is far ahead of the newest event written: old files are looked for in an hour, should it be wrong",
        about: subscription.destination, ["newest": .text(newest.description), "clock": .text(clock.now.description)])
      return
    }
    var sweep = RetentionSweep(
      policy.pattern, retention, on: system, now: clock.now,
      openPaths: Set(files?.values.compactMap { $0.current?.path } ?? []))
    sweep.run()
    if sweep.removedFiles > 0 {
      logger.info(
        "old files removed", about: subscription.destination,
        ["files": .integer(sweep.removedFiles), "bytes": .integer(sweep.removedBytes)])
    }
    if let error = sweep.error {
      logger.warning(
        "old files can't be removed", about: subscription.destination, ["error": .text(error.description)])
    }
  }

  private func rest(until moment: ContinuousClock.Instant) -> SinkStep {
    .rest(until: min(moment, sweepDue ?? moment, (reader.isBounded ? lookDue : nil) ?? moment))
  }

  private func noteFailure(_ failure: NDJSONFailure, _ now: ContinuousClock.Instant) -> SinkStep {
    var delay: Duration?
    switch failure {
    case .left:
      // Nothing failed: the lines that went with the file are written again, to the next one.
      needsRewind = true
      return .again
    case .diskLow: delay = Self.lookInterval
    case .file, .log, .position: needsRewind = true
    }
    let retryAt = troubles.add(
      failure.description, retryAfter: delay, at: now, clock, logger, about: subscription.destination)
    return rest(until: retryAt)
  }
}
