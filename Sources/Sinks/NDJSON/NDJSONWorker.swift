import Clocks
import EventLog
import Observability
import Records

/// Writes a sink's events into line files, a step at a time: what the sink's thread does, without the thread.
///
/// Exactly once: events are read, written, synced, and only then acknowledged and committed together with the file's
/// length. Whatever fails in between, the file is cut back to the committed length and the events are read again. A new
/// file is committed, empty, before the first line goes into it.
///
/// Not thread-safe; lives on the sink's thread. Blocks in file calls.
final class NDJSONWorker: SinkWorker {
  /// Lines are synced at latest so long after they were written, or when so many bytes wait for it.
  static let syncInterval: Duration = .seconds(1)
  static let syncBytes = 8 << 20
  /// How often the file is looked for under its name, and the disk's free space asked about.
  static let lookInterval: Duration = .seconds(1)
  static let readLimit = ReadLimit(events: 1000, bytes: 256 * 1024)

  let reader: SinkReader
  let policy: RotationPolicy
  let retention: RetentionPolicy?
  let system: FileSystem
  let clock: WallClock
  let logger: Logger
  private let isDiskLow: @Sendable () -> Bool

  let lines: RecordLines

  /// Where the files have got to; nil until the position was read.
  var state: RotationPolicy.State?
  var file: RecordFile?
  /// When the open file ends, by the newest `received_at`.
  var fileEnd = Timestamp(milliseconds: .min)
  /// Something was acknowledged, or a file begun or left, since the last commit.
  var needsCommit = false
  /// After a failure: what was written and not committed is to be cut off and read again.
  var needsRewind = true

  private(set) var condition = SinkCondition()
  private var backoff = Backoff()
  private var retryAt: ContinuousClock.Instant?
  var syncDue: ContinuousClock.Instant?
  private var lookDue: ContinuousClock.Instant?
  private var sweepDue: ContinuousClock.Instant?

  init(_ options: NDJSONOptions, _ context: SinkContext, system: FileSystem = .system) {
    reader = SinkReader(context.subscription, context.common, logger: context.logger)
    isDiskLow = context.isDiskLow
    clock = context.clock
    logger = context.logger
    self.system = system
    policy = RotationPolicy(pattern: options.pattern, size: options.rotation.size, every: options.rotation.every)
    retention = options.retention.map { RetentionPolicy(retention: $0) }
    lines = RecordLines(relay: context.relay, capacity: 384 * 1024)
  }

  var subscription: any Subscription { reader.subscription }

  func step(now: ContinuousClock.Instant, settles: Bool) -> SinkStep {
    sweepIfDue(now)
    let isLookDue = lookDue.map { now >= $0 } ?? true
    if isLookDue { lookDue = now + Self.lookInterval }
    do throws(NDJSONFailure) {
      if isLookDue, reader.isTooFarBehind { try giveUpOldest() }
      if let retryAt, now < retryAt { return rest(until: retryAt) }
      if needsRewind { try recover() }
      if needsCommit { try commit() }
      if isLookDue { try lookAround() }
      let hasRead = try writeBatch(now)
      // A failure is over only when a sync has worked: not waited for then.
      if isSyncDue(now) || (settles && !hasRead) || condition.failure != nil { try settle() }
      noteSuccess()
      return hasRead ? .again : .wait(until: min(syncDue ?? lookDue!, lookDue!))
    } catch {
      return noteFailure(error, now)
    }
  }

  /// Settles what is written, as the last thing before the file is closed.
  func finish() {
    do throws(NDJSONFailure) {
      if !needsRewind { try settle() }
      if needsCommit { try commit() }
    } catch {
      _ = noteFailure(error, .now)
    }
    file = nil
  }

  private func isSyncDue(_ now: ContinuousClock.Instant) -> Bool {
    guard let syncDue else { return false }
    return now >= syncDue || (file?.unsyncedBytes ?? 0) >= Self.syncBytes
  }

  /// - Returns: false when there was nothing to read.
  private func writeBatch(_ now: ContinuousClock.Instant) throws(NDJSONFailure) -> Bool {
    do throws(LogError) {
      guard try reader.read(Self.readLimit) else { return false }
    } catch {
      throw .log(error)
    }
    let (batch, events) = (reader.batch, reader.batch.events)
    lines.removeAll()
    var unwritten = events.startIndex
    for index in events.indices {
      if mustBegin(events[index].receivedAt) {
        try write(events[unwritten..<index])
        try begin()
        unwritten = index
      }
      let before = lines.count
      lines.append(events[index], app: batch.app(of: events[index]), bytes: batch.bytes(of: events[index]))
      guard let length = file?.length, !policy.fits(line: lines.count - before, into: length + before) else { continue }
      try write(events[unwritten..<index], bytes: before)
      try begin()
      unwritten = index
    }
    try write(events[unwritten...])
    reader.noteRest()
    if syncDue == nil { syncDue = now + Self.syncInterval }
    return true
  }

  /// Moves the time that names files on; tells whether it leaves the open file behind.
  private func mustBegin(_ receivedAt: Timestamp) -> Bool {
    guard let newest = state?.newest else { return true }
    if receivedAt > newest { state?.newest = receivedAt }
    return file == nil || max(receivedAt, newest) >= fileEnd
  }

  /// Writes lines of events in one go, and takes them out of the buffer.
  private func write(_ events: ArraySlice<StoredEvent>, bytes: Int? = nil) throws(NDJSONFailure) {
    guard let file, !events.isEmpty else { return }
    let count = bytes ?? lines.count
    do throws(FileError) {
      try file.append(UnsafeRawBufferPointer(rebasing: lines.bytes[..<count]))
    } catch {
      throw .file(error)
    }
    lines.removeFirst(count)
    reader.note(events)
  }

  private func settle() throws(NDJSONFailure) {
    try synchronize()
    if needsCommit { try commit() }
  }

  /// Lets go of the oldest events when the sink is too far behind, also while it can't write: that is when it falls behind.
  private func giveUpOldest() throws(NDJSONFailure) {
    if needsRewind { reader.rewind() } else { try settle() }
    do throws(LogError) {
      try reader.dropBehind()
      try subscription.commit(attachment: nil)
    } catch {
      throw .log(error)
    }
  }

  private func lookAround() throws(NDJSONFailure) {
    if let file, (try? file.look()) != .unchanged { try settle() }
    guard isDiskLow() else { return }
    try settle()
    throw .diskLow
  }

  private func sweepIfDue(_ now: ContinuousClock.Instant) {
    guard let retention, sweepDue.map({ now >= $0 }) ?? true else { return }
    let isFirst = sweepDue == nil
    sweepDue = now + RetentionPolicy.interval
    if isFirst, let newest = (state ?? (try? NDJSONPosition(subscription.attachment))?.state)?.newest,
      RetentionPolicy.waitsForClock(newest: newest, now: clock.now)
    {
      logger.warning(
        "the clock is far ahead of the newest event written: old files are looked for in an hour, should it be wrong",
        about: subscription.destination, ["newest": .text(newest.description), "clock": .text(clock.now.description)])
      return
    }
    var sweep = RetentionSweep(policy.pattern, retention, on: system, now: clock.now, openPath: file?.path)
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

  /// Ends a failure once something went all the way: a write that works says nothing while the sync still fails.
  private func noteSuccess() {
    guard !reader.hasUnacknowledged else { return }
    retryAt = nil
    backoff.reset()
    guard condition.failure != nil else { return }
    condition.failure = nil
    condition.retryAt = nil
    logger.info("sink works again", about: subscription.destination)
  }

  private func noteFailure(_ failure: NDJSONFailure, _ now: ContinuousClock.Instant) -> SinkStep {
    let delay: Duration
    switch failure {
    case .left:
      // Nothing failed: the lines that went with the file are written again, to the next one.
      needsRewind = true
      return .again
    case .diskLow: delay = Self.lookInterval
    case .file, .log, .position:
      needsRewind = true
      delay = backoff.next()
    }
    retryAt = now + delay
    condition.failure = failure.description
    condition.lastError = failure.description
    condition.retryAt = clock.now + delay
    logger.warning(
      "sink can't write and tries again", about: subscription.destination,
      ["error": .text(failure.description), "after": .seconds(delay.seconds)])
    return rest(until: now + delay)
  }
}
