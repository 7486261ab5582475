import Clocks
import Observability

/// Copies what is still owed of a nearly finished segment into a small file, so that a few parked events don't pin a
/// whole segment.
///
/// `@unchecked`: a look around holds `monitor`, and nothing else touches what changes.
final class SegmentRewriter: @unchecked Sendable {
  private let monitor = Monitor()
  private let keeper: LogKeeper
  private var catalog: SegmentCatalog { keeper.catalog }
  private var files: SegmentFiles { keeper.files }
  private var tuning: FileLogTuning { keeper.files.tuning }
  /// What was owed of a segment when that last changed.
  private var watched: [UInt64: (owed: Int, since: ContinuousClock.Instant)] = [:]

  init(_ keeper: LogKeeper) { self.keeper = keeper }

  private struct Kept {
    var app: AppID
    var entry: DirectoryEntry
  }

  /// Rewrites every segment that has held little for long enough, when the log isn't small anyway.
  func lookAround(isStopping: () -> Bool) { monitor.withLock { look(isStopping) } }

  private func look(_ isStopping: () -> Bool) {
    let isLarge = Double(catalog.sizeBytes) > tuning.rewriteAbove * Double(keeper.configuration.maxSize)
    let candidates = isLarge ? self.candidates() : [:]
    let now = ContinuousClock.now
    watched = watched.filter { candidates[$0.key] != nil }
    for (number, candidate) in candidates {
      let known = watched[number]
      if known?.owed != candidate.owed { watched[number] = (candidate.owed, now) }
      guard now - watched[number]!.since >= tuning.rewriteAfter, !isStopping() else { continue }
      watched[number] = nil
      rewrite(candidate.segment)
    }
  }

  private func candidates() -> [UInt64: (segment: Segment, owed: Int)] {
    var out: [UInt64: (segment: Segment, owed: Int)] = [:]
    let now = files.clock.now
    let mayTakeKept = Double(keeper.owedBytes) > tuning.rewriteKeptAbove * Double(keeper.configuration.maxSize)
    for segment in catalog.all {
      // What is kept for replay isn't thrown away, unless what is owed needs the room.
      if keeper.isPinned(segment) || (!mayTakeKept && keeper.isYoung(segment, at: now)) { continue }
      let (isSealed, end, events, isSmall) = catalog.monitor.withLock {
        (
          segment.isSealed, segment.endSequence, segment.share(of: .all)?.events ?? 0,
          segment.fileSize < files.segmentSize / 2
        )
      }
      guard isSealed, !isSmall, let owed = keeper.owedMost(of: segment, end: end), owed > 0,
        Double(owed) <= tuning.rewriteBelow * Double(events)
      else { continue }
      out[segment.number] = (segment, owed)
    }
    return out
  }

  private func rewrite(_ segment: Segment) {
    guard let (records, arrivals) = keeper.commitments() else { return }
    let temporary = "\(files.directory)/\(SegmentName.filling(files.monitor.withLock { files.takeNumber() }))"
    do {
      let kept = try entriesOwed(segment, records)
      let copy = try write(kept, of: segment, to: temporary)
      let isDone = try files.monitor.withLock { () throws(DiskError) in
        try keeper.ifNobodyCame(since: arrivals) { () throws(DiskError) in
          try catalog.replace(segment, with: copy) { () throws(DiskError) in
            try files.disk.rename(temporary, to: segment.path)
          }
        }
      }
      guard isDone else { return try files.disk.unlink(temporary) }
      // Until then a cut of power may bring the old one back, which holds the same and more.
      try files.disk.syncDirectory(files.directory)
    } catch {
      try? files.disk.unlink(temporary)
      files.logger.warning(
        "a nearly finished segment can't be rewritten", about: segment.path, ["why": .text("\(error)")])
    }
  }

  /// The frames of which any destination is owed something.
  private func entriesOwed(_ segment: Segment, _ records: [PositionRecord]) throws(LogError) -> [Kept] {
    var kept: [Kept] = []
    var entries: [DirectoryEntry] = []
    for share in catalog.monitor.withLock({ segment.allShares }) where share.app != .all && share.frames > 0 {
      let name = catalog.names.name(of: share.app)
      let marks = records.map { $0.marks(of: $0.mode == .all ? "" : name) }
      for chunk in 0...(share.frames - 1) / SegmentFooter.chunkEntries {
        try catalog.readChunk(chunk, of: share.app, in: segment, into: &entries)
        for entry in entries {
          let range = entry.first(in: segment)...entry.last(in: segment)
          if marks.contains(where: { !$0.unsettled(in: range).isEmpty }) {
            kept.append(Kept(app: share.app, entry: entry))
          }
        }
      }
    }
    return kept.sorted { $0.entry.first(in: segment) < $1.entry.first(in: segment) }
  }

  /// Writes a segment of those frames alone, sealed and synced.
  private func write(_ kept: [Kept], of segment: Segment, to path: String) throws -> Segment {
    var header = segment.header
    header.life = tuning.random()
    header.isRewritten = true
    let source = try catalog.file(of: segment)
    let file = try files.disk.open(path, .create)
    var bytes = [UInt8](repeating: 0, count: SegmentHeader.size)
    bytes.withUnsafeMutableBytes { header.write(to: $0.baseAddress!) }
    try file.writeBytes(bytes, at: 0)
    var directory = MemoryDirectory()
    var offset = SegmentHeader.size
    for one in kept {
      let first = one.entry.first(in: segment)
      let frame = one.entry.isDamaged ? nil : try copy(one.entry, segment, source, file, at: offset, life: header.life)
      let entry = DirectoryEntry(
        offset: offset, length: frame?.length ?? 0, sequenceDelta: Int(first - segment.firstSequence),
        receivedDelta: one.entry.receivedAt(in: segment).milliseconds - segment.createdAt.milliseconds,
        events: one.entry.count, flags: frame == nil ? .damaged : [])
      directory.add(
        entry, app: one.app, first: first, receivedAt: one.entry.receivedAt(in: segment),
        occurredAt: frame?.occurredAt ?? TimeRange())
      offset += entry.length
    }
    let copy = Segment(header, path: segment.path, fileSize: offset)
    copy.directory = directory
    copy.dataEnd = offset
    copy.endSequence = catalog.monitor.withLock { segment.endSequence }
    try files.seal(LogWriter.ActiveSegment(segment: copy, file: file))
    return copy
  }

  /// Copies a frame under a new life; nil when it is damaged.
  private func copy(
    _ entry: DirectoryEntry, _ segment: Segment, _ source: any DiskFile, _ file: any DiskFile, at offset: Int,
    life: UInt64
  ) throws(DiskError) -> (length: Int, occurredAt: TimeRange)? {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: entry.length, alignment: 16)
    defer { buffer.deallocate() }
    guard try source.read(into: buffer, at: entry.offset) == entry.length,
      let frame = Frame(entry, segment, buffer.baseAddress!)
    else { return nil }
    var header = frame.header
    header.life = life
    header.syncedOffset = 0
    header.write(to: buffer.baseAddress!)
    try file.write(UnsafeRawBufferPointer(buffer), at: offset)
    return (header.length, frame.occurredAt)
  }
}
