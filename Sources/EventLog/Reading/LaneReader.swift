import Clocks
import Glibc
import Observability

/// Reads a lane's events from the segments into a batch.
///
/// Whole frames are read straight into the batch, several that lie together at once; checked there, and left there: an
/// event's bytes are never copied.
final class LaneReader {
  struct Result {
    /// Where to read on: everything before it was handed out, is lost, or was settled.
    var next: UInt64
    /// Numbers of events that are gone, with what is left of their frames.
    var lost: [ClosedRange<UInt64>] = []
    /// Nothing follows `next` that may be read now.
    var isAtEnd = false

    func ended(_ request: Request) -> Result {
      var result = self
      result.next = request.through + 1
      result.isAtEnd = true
      return result
    }
  }

  /// What may be read.
  struct Request {
    var from: UInt64
    var through: UInt64
    var limit: ReadLimit
    var settled: IntervalSet
    /// Only these events; nil: all.
    var wanted: IntervalSet?
    /// What the batch holds already, for a read that goes on filling it.
    var before: (bytes: Int, kind: UInt8)?
  }

  /// Frames that lie apart by no more than this are read with one call.
  static let gapMax = 4096
  /// Failing reads of one frame before its events are given up, and how long they must have failed.
  static let faultsMax = 8
  static let faultsFor: Duration = .seconds(60)

  var directory: DirectoryCursor
  private var fault: (sequence: UInt64, count: Int, since: ContinuousClock.Instant)?
  /// What a read fills: the batch, and what has been taken into it.
  private var taken = Taken()

  struct Taken {
    var bytes = 0
    var kind: UInt8?
    var isFull = false
    /// What follows may not be read now.
    var isAtEnd = false
    var next: UInt64 = 0
  }

  init(app: AppID) { directory = DirectoryCursor(app: app) }

  func isSegmentRemoved(_ catalog: SegmentCatalog) -> Bool {
    catalog.monitor.withLock { directory.segment?.isRemoved == true }
  }

  /// Fills the batch from a number on.
  func read(_ request: Request, into batch: EventBatch, from log: LogReadingContext) throws(LogError) -> Result {
    var result = Result(next: request.from)
    taken = Taken(bytes: request.before?.bytes ?? 0, kind: request.before?.kind, next: request.from)
    let catalog = log.catalog
    guard try directory.seek(catalog, to: request.from) else { return result.ended(request) }
    repeat {
      guard let segment = directory.segment, let entry = try directory.entry(catalog) else { break }
      guard entry.first(in: segment) <= request.through else { break }
      if entry.isDamaged {
        lose(entry, segment, request, &result)
        continue
      }
      let run = try directory.run(catalog, from: entry, limit: request.limit, through: request.through)
      try read(run, segment, request, into: batch, log, &result)
      if taken.isAtEnd { break }
      if taken.isFull {
        result.next = taken.next
        return result
      }
    } while try directory.advance(catalog)
    return result.ended(request)
  }

  private func lose(_ entry: DirectoryEntry, _ segment: Segment, _ request: Request, _ result: inout Result) {
    let last = min(entry.last(in: segment), request.through)
    guard taken.next <= last else { return }
    result.lost.append(max(taken.next, entry.first(in: segment))...last)
    taken.next = last + 1
  }

  /// Reads a run of frames that lie together, and takes their events; leaves the directory at the last one looked at.
  private func read(
    _ run: DirectoryCursor.Run, _ segment: Segment, _ request: Request, into batch: EventBatch,
    _ log: LogReadingContext, _ result: inout Result
  ) throws(LogError) {
    batch.used = aligned(batch.used)
    let base = batch.used
    let file = try log.catalog.file(of: segment)
    batch.reserve(run.length)
    var count = 0
    var failure: DiskError?
    do throws(DiskError) {
      count = try file.read(
        into: UnsafeMutableRawBufferPointer(rebasing: batch.bytes[base..<base + run.length]), at: run.offset)
      fault = nil
    } catch {
      failure = error
    }
    if let failure {
      try giveUpOrThrow(failure, segment, request, log, &result)
      return
    }
    batch.used = base + run.length
    for step in 0..<run.frames {
      if step > 0 { guard try directory.advance(log.catalog) else { break } }
      guard let entry = try directory.entry(log.catalog) else { break }
      let at = base + entry.offset - run.offset
      guard entry.end - run.offset <= count, let frame = Frame(entry, segment, batch.bytes.baseAddress! + at) else {
        try loseDamaged(entry, segment, request, log, &result)
        continue
      }
      take(frame, at: at, request, into: batch, holdsReplays: segment.holdsReplays)
      if taken.isFull || taken.isAtEnd { return }
    }
  }

  /// A frame whose bytes aren't what was written.
  private func loseDamaged(
    _ entry: DirectoryEntry, _ segment: Segment, _ request: Request, _ log: LogReadingContext, _ result: inout Result
  ) throws(LogError) {
    // A segment that was taken out meanwhile may be written over already: its events were settled then.
    if log.catalog.monitor.withLock({ segment.isRemoved }) { throw LogError.segmentRemoved }
    log.foundDamage(segment, entry)
    lose(entry, segment, request, &result)
  }

  /// A read that the disk refuses is tried again later, and only in the end taken for a loss.
  private func giveUpOrThrow(
    _ error: DiskError, _ segment: Segment, _ request: Request, _ log: LogReadingContext, _ result: inout Result
  ) throws(LogError) {
    let now = ContinuousClock.now
    var fault = fault?.sequence == taken.next ? fault! : (sequence: taken.next, count: 0, since: now)
    fault.count += 1
    self.fault = fault
    guard fault.count >= Self.faultsMax, now - fault.since >= Self.faultsFor, error.code == EIO,
      let entry = try directory.entry(log.catalog)
    else { throw LogError(error) }
    self.fault = nil
    try loseDamaged(entry, segment, request, log, &result)
  }

  /// Appends a frame's events to the batch, as far as they are wanted and the limits allow.
  private func take(
    _ frame: Frame, at base: Int, _ request: Request, into batch: EventBatch, holdsReplays: Bool
  ) {
    let header = frame.header
    guard let kind = EventKind(rawValue: header.kind) else { return }
    let limit = request.limit
    if limit.separatesKinds, let taken = taken.kind, taken != header.kind || kind == .identify {
      self.taken.isFull = true
      return
    }
    var offset = base + header.eventsOffset
    // (Of events that are sent again it begins with the numbers they first had.)
    let envelopeStart = min(offset, offset - header.envelopeLength + (holdsReplays ? 8 * header.eventCount : 0))
    let envelope = envelopeStart..<offset
    var index = UnsafeRawPointer(frame.start) + header.indexOffset
    var appIndex = -1
    for i in 0..<header.eventCount {
      let sequence = header.firstSequence + UInt64(i)
      let entry = EventIndex(index)
      index += EventIndex.encodedSize
      defer { offset += entry.length + 1 }
      if sequence < taken.next { continue }
      if sequence > request.through {
        taken.isAtEnd = true
        return
      }
      if !request.settled.isEmpty && request.settled.contains(sequence) { continue }
      if let wanted = request.wanted, !wanted.contains(sequence) { continue }
      let isFirst = batch.events.isEmpty
      if (!isFirst && (batch.events.count >= limit.events || taken.bytes + entry.length + 1 > limit.bytes))
        || (!isFirst && limit.separatesKinds && kind == .identify)
      {
        taken.isFull = true
        return
      }
      if appIndex < 0 { appIndex = frame.app(into: batch) }
      batch.events.append(
        StoredEvent(
          sequence: sequence, index: entry, kind: kind, dialect: header.dialect, receivedAt: header.receivedAt,
          appIndex: appIndex, offset: offset, envelope: envelope, original: holdsReplays ? frame.original(i) : nil))
      taken.bytes += entry.length + 1
      taken.kind = header.kind
      taken.next = sequence + 1
    }
    taken.next = max(taken.next, header.endSequence)
    if batch.events.count >= limit.events || limit.separatesRequests && !batch.events.isEmpty { taken.isFull = true }
  }
}

/// What reading needs of the log.
struct LogReadingContext: Sendable {
  var catalog: SegmentCatalog
  /// Counts and tells a damaged frame, the first time it is met.
  var foundDamage: @Sendable (Segment, DirectoryEntry) -> Void
}

extension SegmentCatalog {
  /// Looks through segments' directories, anew when one of them is removed, rewritten or read through meanwhile.
  ///
  /// - Parameter body: must begin its counts anew each time.
  func lookThrough<Result>(_ body: () throws(LogError) -> Result) throws(LogError) -> Result {
    while true {
      do throws(LogError) {
        return try body()
      } catch {
        guard error.isSegmentRemoved else { throw error }
        sched_yield()
      }
    }
  }
}

extension LogError {
  /// Not for anybody's eyes: the reader tries again.
  static let segmentRemoved = LogError("the segment was removed while it was read")
  var isSegmentRemoved: Bool { description == Self.segmentRemoved.description }
}
