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
    /// Which of its events are taken over.
    var numbers: [ClosedRange<UInt64>]
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
    files.monitor.withLock { _ = keeper.yielded([segment]) }
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
      // (What was looked through has changed meanwhile: the next time finds it as it is.)
      if (error as? LogError)?.isSegmentRemoved == true { return }
      files.logger.warning(
        "a nearly finished segment can't be rewritten", about: segment.path, ["why": .text("\(error)")])
    }
  }

  /// The frames of which any destination is owed something, with what that is: events of one frame that wait for long, as
  /// those of a parked install do, must not keep all that came with them.
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
          var owed = IntervalSet()
          for marks in marks { for gap in marks.unsettled(in: range) { owed.insert(gap) } }
          guard !owed.isEmpty else { continue }
          // Frames cost bytes too: one that is mostly owed stays as it is.
          let count = owed.ranges.reduce(0) { $0 + Int($1.upperBound - $1.lowerBound) + 1 }
          kept.append(Kept(app: share.app, entry: entry, numbers: count * 2 > entry.count ? [range] : owed.ranges))
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
      let receivedAt = one.entry.receivedAt(in: segment)
      func add(_ numbers: ClosedRange<UInt64>, _ length: Int, _ occurredAt: TimeRange, _ flags: DirectoryEntry.Flags) {
        let entry = DirectoryEntry(
          offset: offset, length: length, sequenceDelta: Int(numbers.lowerBound - segment.firstSequence),
          receivedDelta: receivedAt.milliseconds - segment.createdAt.milliseconds,
          events: Int(numbers.upperBound - numbers.lowerBound) + 1, flags: flags)
        directory.add(entry, app: one.app, first: numbers.lowerBound, receivedAt: receivedAt, occurredAt: occurredAt)
        offset += length
      }
      let isCopied = try slices(of: one, segment, source, life: header.life) {
        numbers, bytes, occurredAt throws(DiskError) in
        try file.write(bytes, at: offset)
        add(numbers, bytes.count, occurredAt, [])
      }
      if !isCopied { add(one.entry.first(in: segment)...one.entry.last(in: segment), 0, TimeRange(), .damaged) }
    }
    let copy = Segment(header, path: segment.path, fileSize: offset)
    copy.directory = directory
    copy.dataEnd = offset
    copy.endSequence = catalog.monitor.withLock { segment.endSequence }
    try files.seal(LogWriter.ActiveSegment(segment: copy, file: file))
    return copy
  }

  /// Hands out new frames of what is kept of one, under a new life; false when it is damaged.
  private func slices(
    of kept: Kept, _ segment: Segment, _ source: any DiskFile, life: UInt64,
    _ body: (ClosedRange<UInt64>, UnsafeRawBufferPointer, TimeRange) throws(DiskError) -> Void
  ) throws(DiskError) -> Bool {
    let length = kept.entry.length
    guard !kept.entry.isDamaged else { return false }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: length * 2, alignment: 16)
    defer { buffer.deallocate() }
    let (whole, slice) = (buffer.baseAddress!, buffer.baseAddress! + length)
    guard
      try source.read(into: UnsafeMutableRawBufferPointer(start: whole, count: length), at: kept.entry.offset)
        == length,
      let frame = Frame(kept.entry, segment, whole)
    else { return false }
    for numbers in kept.numbers {
      let written = frame.write(numbers, life: life, holdsReplays: segment.holdsReplays, to: slice)
      try body(numbers, UnsafeRawBufferPointer(start: slice, count: written.length), written.occurredAt)
    }
    return true
  }
}
