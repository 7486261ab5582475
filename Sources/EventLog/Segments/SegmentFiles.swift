import Clocks
import Observability

/// Makes, seals, recycles and removes the log's files.
///
/// `@unchecked`: guarded by `monitor`, which also keeps two threads from changing the set of segments at once.
final class SegmentFiles: @unchecked Sendable {
  struct Spare {
    var number: UInt64
    var path: String
  }

  let monitor = Monitor()
  let catalog: SegmentCatalog
  let segmentSize: Int
  let freeSpace: FreeSpace
  let clock: WallClock
  let logger: Logger
  let tuning: FileLogTuning
  var disk: any Disk { catalog.disk }
  var directory: String { catalog.directory }

  // Guarded by `monitor`.

  private(set) var spares: [Spare]
  private var nextNumber: UInt64

  init(
    catalog: SegmentCatalog, segmentSize: Int, freeSpace: FreeSpace, clock: WallClock, logger: Logger,
    tuning: FileLogTuning, spares: [Spare], nextNumber: UInt64
  ) {
    self.catalog = catalog
    self.segmentSize = segmentSize
    self.freeSpace = freeSpace
    self.clock = clock
    self.logger = logger
    self.tuning = tuning
    self.spares = spares
    self.nextNumber = nextNumber
  }

  var spareCount: Int { monitor.withLock { spares.count } }

  func takeNumber() -> UInt64 {
    nextNumber += 1
    return nextNumber - 1
  }

  /// Makes the next segment, from a spare file where there is one. Called with the lock held.
  ///
  /// Its header is durable under its name before any frame is written.
  func open(firstSequence: UInt64, previousEnd: UInt64, acceptedBefore: UInt64, createdAt: Timestamp) throws(DiskError)
    -> LogWriter.ActiveSegment
  {
    let number = takeNumber()
    let path = "\(directory)/\(SegmentName.segment(number))"
    let header = SegmentHeader(
      life: tuning.random(), number: number, firstSequence: firstSequence, previousEnd: previousEnd,
      acceptedBefore: acceptedBefore, createdAt: createdAt, holdsReplays: tuning.holdsReplays)
    let temporary: String
    var file: any DiskFile
    if let spare = spares.popLast() {
      temporary = spare.path
      file = try disk.open(spare.path, .readWrite)
    } else {
      temporary = "\(directory)/\(SegmentName.filling(number))"
      file = try disk.open(temporary, .create)
    }
    do throws(DiskError) {
      if try file.size() < segmentSize { try file.allocate(segmentSize) }
      var bytes = [UInt8](repeating: 0, count: SegmentHeader.size)
      bytes.withUnsafeMutableBytes { header.write(to: $0.baseAddress!) }
      try file.writeBytes(bytes, at: 0)
      try file.syncData()
      try disk.rename(temporary, to: path)
      try disk.syncDirectory(directory)
      // Under its new name, so that errors name it.
      file = try disk.open(path, .readWrite)
    } catch {
      try? disk.unlink(temporary)
      throw error
    }
    let segment = Segment(header, path: path, fileSize: segmentSize)
    segment.directory = MemoryDirectory()
    catalog.append(segment, acceptedEvents: acceptedBefore)
    return LogWriter.ActiveSegment(segment: segment, file: file)
  }

  /// Writes the active segment's footer, and syncs it.
  func seal(_ active: LogWriter.ActiveSegment) throws(DiskError) {
    let segment = active.segment
    guard let directory = catalog.monitor.withLock({ segment.directory }) else { return }
    let footer = SegmentFooter.encode(
      directory, names: catalog.names, life: segment.life, firstSequence: segment.firstSequence,
      endSequence: segment.endSequence, dataEnd: segment.dataEnd, createdAt: segment.createdAt)
    let trailer = SegmentFooter.Trailer(
      life: segment.life, footerOffset: segment.dataEnd, footerLength: footer.count)
    let footerEnd = aligned(segment.dataEnd + footer.count)
    let fileSize = max(try active.file.size(), footerEnd + SegmentFooter.trailerSize)
    var bytes = [UInt8](repeating: 0, count: SegmentFooter.trailerSize)
    bytes.withUnsafeMutableBytes { trailer.write(to: $0.baseAddress!) }
    try active.file.writeBytes(footer, at: segment.dataEnd)
    try active.file.writeBytes(bytes, at: fileSize - SegmentFooter.trailerSize)
    try active.file.syncData()
    let written = try SegmentFooter.read(active.file, trailer, names: catalog.names)
    catalog.update(segment) { segment in
      segment.fileSize = fileSize
      if let written { segment.seal(footer: written) } else { segment.isSealed = true }
    }
  }

  /// Takes segments out of the log: their files are kept to be written over, or removed. Called with the lock held.
  ///
  /// - Parameter mayReuse: false where the room on the disk is what is wanted.
  func remove(_ segments: [Segment], mayReuse: Bool = true) {
    guard !segments.isEmpty else { return }
    for segment in segments {
      let isSpare =
        catalog.remove(segment) && mayReuse && segment.fileSize == segmentSize && spares.count < tuning.sparesMax
      do throws(DiskError) {
        if isSpare {
          let spare = Spare(number: segment.number, path: "\(directory)/\(SegmentName.spare(segment.number))")
          try disk.rename(segment.path, to: spare.path)
          spares.append(spare)
        } else {
          try disk.unlink(segment.path)
        }
      } catch {
        logger.warning("a finished segment can't be removed", about: segment.path, ["why": .text(error.description)])
      }
    }
    do throws(DiskError) {
      try disk.syncDirectory(directory)
    } catch {
      logger.warning("the log's directory can't be synced", about: directory, ["why": .text(error.description)])
    }
  }

  /// Prepares a spare file of zeros when there is none, so that the next segment's writes are overwrites.
  ///
  /// - Returns: whether one was made.
  func fillAhead(isStopping: () -> Bool) -> Bool {
    // A relay that takes in little needs none for long.
    guard monitor.withLock({ spares.isEmpty }), catalog.activeEnd > segmentSize / 8, !freeSpace.isLow,
      freeSpace.availableBytes > freeSpace.minimum + UInt64(segmentSize)
    else { return false }
    let number = monitor.withLock { takeNumber() }
    let temporary = "\(directory)/\(SegmentName.filling(number))"
    let spare = Spare(number: number, path: "\(directory)/\(SegmentName.spare(number))")
    do throws(DiskError) {
      let file = try disk.open(temporary, .create)
      // Synced in pieces, so that it never holds up the log's own syncs for long.
      let zeros = [UInt8](repeating: 0, count: min(segmentSize, 1 << 20))
      var offset = 0
      while offset < segmentSize {
        if isStopping() {
          try disk.unlink(temporary)
          return false
        }
        try file.writeBytes(Array(zeros[..<min(zeros.count, segmentSize - offset)]), at: offset)
        try file.syncData()
        offset += zeros.count
      }
      try disk.rename(temporary, to: spare.path)
      try disk.syncDirectory(directory)
    } catch {
      try? disk.unlink(temporary)
      logger.warning("no spare segment can be prepared", about: directory, ["why": .text(error.description)])
      return false
    }
    return monitor.withLock {
      // Finished segments may have become spares meanwhile.
      guard spares.count < tuning.sparesMax else {
        try? disk.unlink(spare.path)
        return false
      }
      spares.append(spare)
      return true
    }
  }
}
