import Clocks

/// Looks for an event's id in what the log still holds, by the index in front of each request's events: their bytes are
/// not read. Newest first. Not thread-safe.
public struct EventSearch {
  /// An event with the id.
  public struct Hit: Sendable {
    /// The segment's file name, and where the request's frame begins in it.
    public var segment: String
    public var offset: Int
    public var event: StoredEvent
    public var app: String
    /// The event's own bytes, as they were sent.
    public var bytes: [UInt8]
    /// How many events the log had taken in before this one; nil when damage makes that uncertain.
    public var place: UInt64?
    /// Of an event that is sent again: to whom, and whether it still waits for that.
    public var replay: (destination: String, waits: Bool)?
  }

  /// How far a search came.
  public struct Extent: Sendable, Equatable {
    public var segments = 0
    /// Segments that there was no time for.
    public var segmentsLeft = 0
    /// Bytes that were read from files.
    public var bytesRead = 0
    /// When the oldest event was received that was looked at; nil when there was none.
    public var oldestReceivedAt: Timestamp?
    /// Segments that couldn't be read: damaged, or gone meanwhile.
    public var unread = 0

    public init() {}
  }

  private let high, low: UInt64
  private let deadline: ContinuousClock.Instant
  public private(set) var hits: [Hit] = []
  public private(set) var extent = Extent()
  private var window = IndexWindow()

  /// - Parameters:
  ///   - high: the id's first eight bytes as a big-endian number, `low` the last eight.
  ///   - deadline: no segment is begun after it.
  public init(high: UInt64, low: UInt64, deadline: ContinuousClock.Instant) {
    self.high = high
    self.low = low
    self.deadline = deadline
  }

  /// Looks through the log, then through each destination's queue of events that are sent again.
  public mutating func run(_ view: LogView) {
    search(view.catalog)
    for destination in view.destinations {
      guard let queue = destination.queue else { continue }
      let before = hits.count
      search(queue.catalog)
      for at in hits.indices[before...] {
        let standing = destination.standingReplayed(app: hits[at].app, hits[at].event.sequence)
        hits[at].replay = (destination.name, standing == .owed)
      }
    }
  }

  private mutating func search(_ catalog: SegmentCatalog) {
    for segment in catalog.all.reversed() {
      guard let share = catalog.share(of: .all, in: segment) else { continue }
      guard ContinuousClock.now < deadline else {
        extent.segmentsLeft += 1
        continue
      }
      do throws(LogError) {
        try searchAgainIfChanged(segment, share, catalog)
        extent.segments += 1
        if let oldest = share.receivedAt.earliestIfAny {
          extent.oldestReceivedAt = min(extent.oldestReceivedAt ?? oldest, oldest)
        }
      } catch {
        extent.unread += 1
      }
    }
  }

  private mutating func searchAgainIfChanged(
    _ segment: Segment, _ share: SegmentShare, _ catalog: SegmentCatalog
  ) throws(LogError) {
    while true {
      do throws(LogError) {
        return try search(segment, share, catalog)
      } catch {
        // Its directory was made anew; a segment that has gone stays gone.
        guard error.isSegmentRemoved, !catalog.monitor.withLock({ segment.isRemoved }) else { throw error }
      }
    }
  }

  private mutating func search(_ segment: Segment, _ share: SegmentShare, _ catalog: SegmentCatalog) throws(LogError) {
    let file = try catalog.file(of: segment)
    window.forget()
    let (high, low) = (high.bigEndian, low.bigEndian)
    var entries: [DirectoryEntry] = []
    var found: [Hit] = []
    for chunk in 0...max(0, share.frames - 1) / SegmentFooter.chunkEntries {
      try catalog.readChunk(chunk, of: .all, in: segment, into: &entries)
      for entry in entries where !entry.isDamaged {
        let wanted = min(
          entry.length, FrameHeader.size + FrameHeader.appLengthMax + entry.count * EventIndex.encodedSize)
        guard let start = window.bytes(file, at: entry.offset, wanted, of: entry.length),
          case .header(let header) = FrameHeader.read(start, available: wanted, life: segment.life),
          header.indexOffset + header.indexLength <= wanted
        else { continue }
        var index = start + header.indexOffset
        for at in 0..<header.eventCount {
          defer { index += EventIndex.encodedSize }
          guard index.loadUnaligned(as: UInt64.self) == high,
            index.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == low
          else { continue }
          if let hit = hit(at, entry, segment, file) { found.append(hit) }
        }
      }
    }
    extent.bytesRead += window.takeBytesRead()
    // Within a segment as well: the newest first.
    hits += found.reversed()
  }

  private func hit(_ at: Int, _ entry: DirectoryEntry, _ segment: Segment, _ file: any DiskFile) -> Hit? {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: entry.length, alignment: 16)
    defer { buffer.deallocate() }
    guard (try? file.read(into: buffer, at: entry.offset)) == entry.length,
      let frame = Frame(entry, segment, buffer.baseAddress!), let kind = EventKind(rawValue: frame.header.kind)
    else { return nil }
    let header = frame.header
    var offset = header.eventsOffset
    for before in 0..<at {
      offset +=
        EventIndex(UnsafeRawPointer(frame.start) + header.indexOffset + before * EventIndex.encodedSize).length + 1
    }
    let index = EventIndex(UnsafeRawPointer(frame.start) + header.indexOffset + at * EventIndex.encodedSize)
    guard offset + index.length <= entry.length else { return nil }
    let sequence = header.firstSequence + UInt64(at)
    let event = StoredEvent(
      sequence: sequence, index: index, kind: kind, dialect: header.dialect, receivedAt: header.receivedAt, appIndex: 0,
      offset: 0, original: segment.holdsReplays ? frame.original(at) : nil)
    let app = String(decoding: buffer[FrameHeader.size..<FrameHeader.size + header.appLength], as: UTF8.self)
    return Hit(
      segment: SegmentName.segment(segment.number), offset: entry.offset, event: event, app: app,
      bytes: Array(buffer[offset..<offset + index.length]),
      place: segment.holdsReplays ? nil : segment.acceptedBefore + (sequence - segment.firstSequence))
  }
}
