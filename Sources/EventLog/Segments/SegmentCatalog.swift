import Clocks
import Observability

/// All segments of the log, and what readers may know of them.
///
/// `@unchecked`: everything that changes is guarded by `monitor`.
final class SegmentCatalog: @unchecked Sendable {
  let directory: String
  let disk: any Disk
  let names: AppTable
  let logger: Logger
  let monitor = Monitor()

  // Guarded by `monitor`.

  /// In the order of their numbers; the last one may be active.
  private(set) var segments: [Segment] = []
  private var recentFiles: [any DiskFile] = []
  private var recentAt = 0
  private var openFilesMax = 16
  /// Sealed segments whose directory was made anew: it may know of fewer events of an app than the footer did.
  private(set) var rebuilt: [Segment] = []
  private(set) var rebuilds = 0
  /// The number after the last event that readers may see.
  private(set) var publishedEnd: UInt64
  /// Events taken in since the data directory was made, up to `publishedEnd`.
  private(set) var acceptedEvents: UInt64

  init(
    directory: String, disk: any Disk, names: AppTable, logger: Logger, segments: [Segment], publishedEnd: UInt64,
    acceptedEvents: UInt64
  ) {
    self.directory = directory
    self.disk = disk
    self.names = names
    self.logger = logger
    self.segments = segments
    self.publishedEnd = publishedEnd
    self.acceptedEvents = acceptedEvents
  }

  // MARK: Looking up

  /// The first segment with events of the app numbered `sequence` or above.
  func segment(of app: AppID, from sequence: UInt64) -> Segment? {
    monitor.withLock {
      var at = segments.partition { $0.endSequence > sequence }
      while at < segments.count {
        if let share = segments[at].share(of: app), share.last >= sequence { return segments[at] }
        at += 1
      }
      return nil
    }
  }

  /// The segment behind one with events of the app.
  func segment(of app: AppID, behind segment: Segment) -> Segment? {
    monitor.withLock {
      var at = segments.partition { $0.number > segment.number }
      while at < segments.count {
        if segments[at].share(of: app) != nil { return segments[at] }
        at += 1
      }
      return nil
    }
  }

  var all: [Segment] { monitor.withLock { segments } }

  func share(of app: AppID, in segment: Segment) -> SegmentShare? { monitor.withLock { segment.share(of: app) } }

  /// The segment's file, open for reading.
  func file(of segment: Segment) throws(LogError) -> any DiskFile {
    if let file = monitor.withLock({ segment.openFile }) { return file }
    let file: any DiskFile
    do throws(DiskError) { file = try disk.open(segment.path, .read) } catch { throw LogError(error) }
    monitor.withLock {
      segment.openFile = file
      if recentFiles.count < openFilesMax {
        recentFiles.append(file)
      } else {
        recentFiles[recentAt] = file
        recentAt = (recentAt + 1) % openFilesMax
      }
    }
    return file
  }

  /// How many files stay open for the next read: 16, or as many as the process can spare, at least 1.
  func setOpenFilesMax(_ count: Int) {
    monitor.withLock {
      openFilesMax = count
      recentFiles.removeLast(max(0, recentFiles.count - count))
      recentAt = 0
    }
  }

  /// One chunk of the list of an app's frames in a segment.
  func readChunk(_ chunk: Int, of app: AppID, in segment: Segment, into entries: inout [DirectoryEntry])
    throws(LogError)
  {
    // Looked at once: a segment that is sealed meanwhile still has its entries, in another place.
    var isInMemory = false
    let share: SegmentShare? = monitor.withLock {
      guard let directory = segment.directory else { return segment.share(of: app) }
      isInMemory = true
      let list = directory.entries(of: app)
      entries.removeAll(keepingCapacity: true)
      let from = chunk * SegmentFooter.chunkEntries
      if from < list.count {
        entries.append(contentsOf: list[from..<min(list.count, from + SegmentFooter.chunkEntries)])
      }
      return nil
    }
    if isInMemory { return }
    guard let share else { return entries.removeAll(keepingCapacity: true) }
    let file: any DiskFile
    do throws(LogError) {
      file = try self.file(of: segment)
    } catch {
      if monitor.withLock({ segment.isRemoved }) { throw LogError.segmentRemoved }
      throw error
    }
    let isWhole = try asLogError { () throws(DiskError) in
      try SegmentFooter.readChunk(
        chunk, of: share, in: segment, footerOffset: segment.footerOffset, file, into: &entries)
    }
    // (Then what lies under its name is another one.)
    if monitor.withLock({ segment.isRemoved }) { throw LogError.segmentRemoved }
    if isWhole { return }
    logger.warning(
      "part of a segment's directory is damaged: the segment is read through instead", about: segment.path)
    try rebuildDirectory(of: segment, file)
    // Places in the list may be others now: whoever walks through it looks for his place anew.
    throw LogError.segmentRemoved
  }

  private func rebuildDirectory(of segment: Segment, _ file: any DiskFile) throws(LogError) {
    let recovery = try SegmentRecovery(
      file, segment.header, end: segment.footerOffset, knownEnd: segment.endSequence, floor: 0, names: names)
    monitor.withLock {
      segment.directory = recovery.directory
      rebuilt.append(segment)
      rebuilds += 1
    }
  }

  // MARK: Changing

  func append(_ segment: Segment, acceptedEvents: UInt64) {
    monitor.withLock {
      segments.append(segment)
      publishedEnd = max(publishedEnd, segment.firstSequence)
      self.acceptedEvents = max(self.acceptedEvents, acceptedEvents)
    }
  }

  /// Lets readers see frames of the active segment.
  func publish(_ notes: some Sequence<FrameNote>, in segment: Segment, dataEnd: Int) {
    monitor.withLock {
      for note in notes {
        let entry = DirectoryEntry(
          offset: note.offset, length: note.length, sequenceDelta: Int(note.first - segment.firstSequence),
          receivedDelta: note.receivedAt.milliseconds - segment.createdAt.milliseconds, events: note.count)
        segment.directory?.add(
          entry, app: note.app, first: note.first, receivedAt: note.receivedAt, occurredAt: note.occurredAt)
        segment.endSequence = note.first + UInt64(note.count)
      }
      segment.dataEnd = dataEnd
      acceptedEvents += segment.endSequence - max(publishedEnd, segment.firstSequence)
      publishedEnd = segment.endSequence
    }
  }

  /// Takes a segment out; true when nobody has its file open, so that it may be written over.
  func remove(_ segment: Segment) -> Bool {
    monitor.withLock {
      segments.removeAll { $0 === segment }
      segment.isRemoved = true
      rebuilt.removeAll { $0 === segment }
      recentFiles.removeAll { $0 === segment.openFile }
      recentAt = 0
      return segment.openFile == nil
    }
  }

  /// Puts a rewritten copy in a segment's place, `rename` giving its file the segment's name; false when the segment has
  /// gone meanwhile. Called with the files' lock held.
  ///
  /// Whoever opens the name from then on may get the copy's file, and must not take what he finds there for damage: so
  /// the segment counts as removed before, and readers try again until the copy is in its place.
  func replace(
    _ segment: Segment, with copy: Segment, _ rename: () throws(DiskError) -> Void
  ) throws(DiskError) -> Bool {
    let isThere = monitor.withLock {
      defer { segment.isRemoved = true }
      return !segment.isRemoved
    }
    guard isThere else { return false }
    do throws(DiskError) {
      try rename()
    } catch {
      monitor.withLock { segment.isRemoved = false }
      throw error
    }
    monitor.withLock {
      if let at = segments.firstIndex(where: { $0 === segment }) { segments[at] = copy }
      rebuilt.removeAll { $0 === segment }
      recentFiles.removeAll { $0 === segment.openFile }
      recentAt = 0
    }
    return true
  }

  func update(_ segment: Segment, _ change: (Segment) -> Void) { monitor.withLock { change(segment) } }

  /// Whether the damage of this frame is told for the first time.
  func reportDamage(_ segment: Segment, offset: Int) -> Bool {
    monitor.withLock { segment.reportedDamage.insert(offset).inserted }
  }
}

extension Array {
  /// Where the elements begin for which the condition holds, all behind the first such included.
  func partition(_ holds: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

extension SegmentCatalog {
  /// Bytes of all segments that hold something.
  var sizeBytes: Int {
    monitor.withLock {
      segments.reduce(0) { $0 + ($1.isSealed ? $1.fileSize : $1.isEmpty ? 0 : $1.dataEnd) }
    }
  }

  /// Bytes of frames from a place in a segment to the log's end.
  ///
  /// - Parameter counts: whether a segment of this number is among them.
  func bytes(from segment: Segment, offset: Int, where counts: (UInt64) -> Bool = { _ in true }) -> Int {
    monitor.withLock {
      segments.reduce(0) { total, one in
        guard one.number >= segment.number, counts(one.number) else { return total }
        return total + (one === segment ? max(0, one.dataEnd - offset) : one.dataEnd)
      }
    }
  }

  /// Where the frames of the active segment end; 0 without one.
  var activeEnd: Int { monitor.withLock { segments.last.map { $0.isSealed ? 0 : $0.dataEnd } ?? 0 } }

  /// The number after the last event of the last segment; nil without one.
  var lastEnd: UInt64? { monitor.withLock { segments.last?.endSequence } }
}
