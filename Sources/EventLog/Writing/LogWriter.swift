import Clocks
import Observability

/// Takes frames from any thread, and writes and syncs them in rounds: all that came since the last one together.
///
/// `@unchecked`: what changes is guarded by `monitor`, but for what only the writer's thread touches.
final class LogWriter: @unchecked Sendable {
  /// What a round of writing leads to; called on the writer's thread.
  struct Effects: Sendable {
    /// Frames are synced: let readers see them.
    var publish: @Sendable (StagingBuffer, Segment) -> Void
    /// All completions of the round are called: wake whoever reads.
    var wake: @Sendable () -> Void
    /// The active segment has no room: seal it and open another, for a frame received at this time.
    var roll: @Sendable (ActiveSegment?, Timestamp) -> RollOutcome
    /// A sync has failed: leave a sign for the next start.
    var leaveSign: @Sendable () -> Void
  }

  enum RollOutcome {
    case opened(ActiveSegment)
    /// There is no room for another; the active segment, when there is one still, stays.
    case blocked(AppendRefusal, stays: ActiveSegment?)
    case failed(String)
  }

  /// The segment that is written to, with its file.
  struct ActiveSegment {
    var segment: Segment
    var file: any DiskFile
  }

  /// What is given out of the active segment, staged frames included.
  struct Given {
    /// Where the next frame goes.
    var end = SegmentHeader.size
    var frames = 0
    var apps: Set<AppID> = []
  }

  let monitor = Monitor()
  /// The writer waits for it: something is staged, or filled.
  let work = Condition()
  /// Appenders wait for it: there is room again.
  let room = Condition()
  let configuration: FileLogConfiguration
  let segmentSize: Int
  let tuning: FileLogTuning
  let freeSpace: FreeSpace
  let names: AppTable
  let logger: Logger
  let syncSeconds: Histogram
  let eventsPerSync: Histogram
  var effects: Effects!

  // Guarded by `monitor`.

  var active: ActiveSegment?
  var given: Given
  var nextSequence: UInt64
  var filling: StagingBuffer
  var writing: StagingBuffer
  /// Up to where the active segment is synced.
  var syncedOffset: Int
  /// Up to where it is written.
  var writtenOffset: Int
  /// Since when something is written and not synced (durability `os`); nil when all is.
  var dirtySince: ContinuousClock.Instant?
  var isWriterWaiting = false
  /// The active segment is to be changed: nothing is staged meanwhile.
  var isRollAsked = false
  var rollAskedSince = ContinuousClock.now
  /// When the frame was received that asks for it.
  var rollTime = Timestamp(milliseconds: 0)
  var rolls = 0
  /// How often segments were freed.
  var roomsMade = 0
  /// A write found the disk full: what was staged is being refused.
  var isResetting = false
  /// Why no other segment could be opened, and when that is tried again.
  var blocked: (refusal: AppendRefusal, until: ContinuousClock.Instant)?
  var noSpaceUntil: ContinuousClock.Instant?
  /// What a write on a full disk may have left behind, and must not be taken for frames.
  var remains: Range<Int>?
  var failure: String?
  var isClosed = false

  init(
    configuration: FileLogConfiguration, tuning: FileLogTuning, freeSpace: FreeSpace, names: AppTable, logger: Logger,
    metrics: MetricsRegistry, active: ActiveSegment?, given: Given, nextSequence: UInt64
  ) {
    self.configuration = configuration
    segmentSize = configuration.effectiveSegmentSize
    self.tuning = tuning
    self.freeSpace = freeSpace
    self.names = names
    self.logger = logger
    self.active = active
    self.given = given
    self.nextSequence = nextSequence
    filling = StagingBuffer(capacity: tuning.stagingSize)
    writing = StagingBuffer(capacity: tuning.stagingSize)
    syncedOffset = given.end
    writtenOffset = given.end
    syncSeconds = metrics.histogram("event_relay_log_sync_seconds", "Time to write and sync what had come in.")
    eventsPerSync = metrics.histogram(
      "event_relay_log_events_per_sync", "Events made durable by one sync.",
      bounds: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000])
  }

  /// Whether anything waits for the disk, and since when.
  var waitingSince: ContinuousClock.Instant? {
    monitor.withLock { writing.since ?? filling.since ?? (isRollAsked ? rollAskedSince : nil) }
  }
}
