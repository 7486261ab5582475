import Archive
import Clocks
import EventLog
import Observability
import Records

/// Writes a sink's events into an archive, a step at a time: what the sink's thread does, without the thread.
///
/// Exactly once: events are read, written, synced, and only then acknowledged and committed. The archive says itself what
/// is in it; events up to its newest are not written again, whatever the position says.
///
/// Not thread-safe; lives on the sink's thread. Blocks in file calls.
final class ArchiveWorker: SinkWorker {
  /// Lines are synced at latest so long after they were written, or when so many bytes of them wait for it.
  static let syncInterval: Duration = .seconds(1)
  static let syncBytes = 8 << 20
  /// How often the files are looked for under their names, and the disk's free space asked about.
  static let lookInterval: Duration = .seconds(1)
  /// Small: what is read is compressed and hashed at one go.
  static let readLimit = ReadLimit(events: 100, bytes: 64 * 1024)

  let reader: SinkReader
  let place: ArchiveWriter.Place
  let rotation: ArchiveRotation
  let retention: RetentionPolicy?
  let system: FileSystem
  let clock: WallClock
  let logger: Logger
  private let isDiskLow: @Sendable () -> Bool

  let lines: RecordLines
  private var notes: [ArchiveLine] = []

  /// Nil until the archive could be opened.
  var writer: ArchiveWriter?
  /// Since when the open file has been open here.
  var openSince = ContinuousClock.now
  /// Something was acknowledged, or a file begun or published, since the last commit.
  var needsCommit = false
  /// After a failure: what was written and not synced is to be cut off and read again.
  var needsRecovery = true

  private var troubles = SinkTroubles()
  var syncDue: ContinuousClock.Instant?
  private var lookDue: ContinuousClock.Instant?
  var sweepDue: ContinuousClock.Instant?

  init(_ options: ArchiveOptions, _ context: SinkContext, system: FileSystem = .system) {
    reader = SinkReader(context.subscription, context.common, logger: context.logger)
    place = ArchiveWriter.Place(path: options.directory, relay: context.relay, sink: context.name)
    rotation = ArchiveRotation(size: options.rotation.size, every: options.rotation.every)
    retention = options.retention.map { RetentionPolicy(retention: $0) }
    isDiskLow = context.isDiskLow
    clock = context.clock
    logger = context.logger
    self.system = system
    lines = RecordLines(relay: context.relay, capacity: 384 * 1024)
  }

  var subscription: any Subscription { reader.subscription }
  var condition: SinkCondition { troubles.condition }

  func step(now: ContinuousClock.Instant, settles: Bool) -> SinkStep {
    let isLookDue = lookDue.map { now >= $0 } ?? true
    if isLookDue { lookDue = now + Self.lookInterval }
    do throws(ArchiveFailure) {
      if isLookDue, reader.isTooFarBehind { try giveUpOldest() }
      if let retryAt = troubles.retryAt, now < retryAt { return rest(until: retryAt) }
      if needsRecovery { try recover(now) }
      if needsCommit { try commit() }
      try sweepIfDue(now)
      if isLookDue { try lookAround() }
      let hasRead = try writeBatch(now)
      // A failure is over only when a sync has worked: not waited for then.
      if isSyncDue(now) || (settles && !hasRead) || troubles.isFailing { try settle() }
      if !hasRead { try publishIfOver(now) }
      if !reader.hasUnacknowledged { troubles.end(logger, about: subscription.destination) }
      return hasRead ? .again : .wait(until: min(syncDue ?? lookDue!, lookDue!))
    } catch {
      return noteFailure(error, now)
    }
  }

  /// Settles what is written, and publishes the open file, as the last thing before the archive is closed.
  func finish() {
    do throws(ArchiveFailure) {
      if !needsRecovery { try publish() }
      if needsCommit { try commit() }
    } catch {
      _ = noteFailure(error, .now)
    }
    writer = nil
  }

  private func isSyncDue(_ now: ContinuousClock.Instant) -> Bool {
    guard let syncDue else { return false }
    return now >= syncDue || (writer?.openFile?.unsyncedBytes ?? 0) >= Self.syncBytes
  }

  /// - Returns: false when there was nothing to read.
  private func writeBatch(_ now: ContinuousClock.Instant) throws(ArchiveFailure) -> Bool {
    do throws(LogError) {
      guard try reader.read(Self.readLimit) else { return false }
    } catch {
      throw .log(error)
    }
    let (batch, events) = (reader.batch, reader.batch.events)
    lines.removeAll()
    notes.removeAll(keepingCapacity: true)
    var unwritten = events.startIndex
    var newest = writer?.lastSequence
    for index in events.indices {
      let event = events[index]
      // In the archive already: after a crash, with a position from a backup, or sent again.
      if let newest, event.sequence <= newest { continue }
      if mustBegin(event.receivedAt) {
        try write(events[unwritten..<index])
        unwritten = index
        try publish()
        try begin(at: event, now)
      }
      newest = event.sequence
      let before = lines.count
      lines.append(event, app: batch.app(of: event), bytes: batch.bytes(of: event))
      notes.append(
        ArchiveLine(length: lines.count - before, sequence: event.sequence, receivedAt: event.receivedAt))
    }
    try write(events[unwritten...])
    reader.noteRest()
    if syncDue == nil { syncDue = now + Self.syncInterval }
    if let file = writer?.openFile, rotation.isFull(file) { try publish() }
    return true
  }

  private func mustBegin(_ receivedAt: Timestamp) -> Bool {
    guard let file = writer?.openFile else { return true }
    return rotation.isBehind(file, receivedAt)
  }

  /// Writes the lines that were built, and notes the events they are of, and those that need none.
  private func write(_ events: ArraySlice<StoredEvent>) throws(ArchiveFailure) {
    if !notes.isEmpty {
      try archive { writer throws(ArchiveError) in try writer.append(lines.bytes, notes[...]) }
    }
    lines.removeAll()
    notes.removeAll(keepingCapacity: true)
    reader.note(events)
  }

  /// Lets go of the oldest events when the sink is too far behind, also while it can't write: that is when it falls behind.
  private func giveUpOldest() throws(ArchiveFailure) {
    if needsRecovery { reader.rewind() } else { try settle() }
    do throws(LogError) {
      try reader.dropBehind()
      try subscription.commit(attachment: nil)
    } catch {
      throw .log(error)
    }
  }

  private func lookAround() throws(ArchiveFailure) {
    try leaveIfMoved()
    guard isDiskLow() else { return }
    try settle()
    throw .diskLow
  }

  private func rest(until moment: ContinuousClock.Instant) -> SinkStep {
    .rest(until: min(moment, (reader.isBounded ? lookDue : nil) ?? moment))
  }

  private func noteFailure(_ failure: ArchiveFailure, _ now: ContinuousClock.Instant) -> SinkStep {
    var delay: Duration?
    switch failure {
    case .left:
      // Nothing failed: the archive is opened anew, at once.
      needsRecovery = true
      return .again
    case .diskLow: delay = Self.lookInterval
    case .archive, .log, .position: needsRecovery = true
    }
    let retryAt = troubles.add(
      failure.description, retryAfter: delay, at: now, clock, logger, about: subscription.destination)
    return rest(until: retryAt)
  }
}
