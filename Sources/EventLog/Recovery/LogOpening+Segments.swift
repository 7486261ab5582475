import Clocks
import Glibc
import Observability

extension LogOpening {
  /// Reads a segment's first and last bytes.
  func look(_ number: UInt64) throws(LogError) -> Found {
    let path = "\(directory)/\(SegmentName.segment(number))"
    var found = try asLogError { () throws(DiskError) in
      let file = try disk.open(path, openMode)
      return Found(number: number, path: path, file: file, size: try file.size())
    }
    let window = ScanWindow(found.file, end: found.size)
    let head = window.withBytes(at: 0, SegmentHeader.size) { head in
      head.baseAddress.map { SegmentHeader.read($0, available: head.count) }
    }
    switch head {
    case .header(let header): found.header = header.number == number ? header : nil
    case .newer(let version): throw SegmentScan.newer(path, version)
    case .broken, nil: break
    }
    guard found.size >= SegmentHeader.size + SegmentFooter.trailerSize else { return found }
    let tail = window.withBytes(at: found.size - SegmentFooter.trailerSize, SegmentFooter.trailerSize) { tail in
      tail.baseAddress.map { SegmentFooter.Trailer.read($0) }
    }
    switch tail {
    case .trailer(let trailer):
      if found.header?.life ?? trailer.life == trailer.life, trailer.fits(found.size) { found.trailer = trailer }
    case .newer(let version): if found.header != nil { throw SegmentScan.newer(path, version) }
    case .some(.none), nil: break
    }
    return found
  }

  /// A file of which nothing can be told isn't part of the log any more, but is kept.
  mutating func setAside(_ found: Found) {
    corruptRecords += 1
    aside[found.number] = found.size
    let aside = "\(directory)/\(SegmentName.aside(found.number))"
    logger.error(
      "a segment's header and first frame are damaged: it is set aside, its events are lost", about: found.path,
      ["kept_as": .text(aside), "offset": .integer(0)])
    do throws(DiskError) {
      try disk.rename(found.path, to: aside)
      try disk.syncDirectory(directory)
    } catch {
      logger.warning("a damaged segment can't be set aside", about: found.path, ["why": .text(error.description)])
    }
  }

  /// Adds a segment to the log.
  mutating func take(_ found: Found, knownEnd: UInt64?, isLast: Bool) throws(LogError) {
    guard let header = found.header else { return }
    let segment = Segment(header, path: found.path, fileSize: found.size)
    let trailer = found.trailer.flatMap { $0.life == header.life ? $0 : nil }
    if let trailer {
      let footer = try? SegmentFooter.read(found.file, trailer, names: names)
      if let footer, footer.firstSequence == header.firstSequence, footer.endSequence >= footer.firstSequence {
        segment.seal(footer: footer)
        add(segment)
        return
      }
      logger.warning("a segment's footer is damaged: it is read through instead", about: found.path)
    }
    var recovery = try SegmentRecovery(
      found.file, header, end: trailer?.footerOffset ?? found.size, knownEnd: knownEnd, floor: isLast ? floor : 0,
      names: names)
    if isLast, trailer == nil, let shorter = try withoutBroken(recovery, header, found) { recovery = shorter }
    segment.directory = recovery.directory
    segment.dataEnd = sectorAligned(recovery.dataEnd)
    segment.endSequence = recovery.endSequence
    report(recovery.damages, in: found.path)
    var open = LogWriter.ActiveSegment(segment: segment, file: found.file)
    if isLast && trailer == nil {
      let mayGoOn = finishTail(recovery, header, found, &open.file)
      // Numbers that a position names are never given again: what comes next begins a segment of its own.
      if mayGoOn && floor <= recovery.endSequence { active = open } else { unfooted.append(open) }
    } else {
      segment.isSealed = true
      unfooted.append(open)
    }
    add(segment)
  }

  /// Without what was being put in, from where it is broken on, though whole frames of it follow: whoever put it in knows that
  /// it isn't settled, and puts in again what isn't there. Nil when nothing of that kind is broken.
  private func withoutBroken(
    _ recovery: SegmentRecovery, _ header: SegmentHeader, _ found: Found
  ) throws(LogError) -> SegmentRecovery? {
    guard let unsettledFrom, let broken = recovery.firstUnsynced else { return nil }
    var shorter = try SegmentRecovery(found.file, header, end: broken, knownEnd: nil, floor: floor, names: names)
    guard shorter.endSequence >= max(unsettledFrom, floor),
      shorter.damages == recovery.damages.filter({ $0.offset < broken })
    else { return nil }
    shorter.tear(through: max(recovery.dataEnd, recovery.torn?.upperBound ?? 0))
    return shorter
  }

  private mutating func add(_ segment: Segment) {
    segments.append(segment)
    if let latest = segment.share(of: .all)?.receivedAt.latest, latest.milliseconds > .min {
      newestReceivedAt = max(newestReceivedAt ?? latest, latest)
    }
  }

  private mutating func report(_ damages: [SegmentRecovery.Damage], in path: String) {
    for damage in damages {
      corruptRecords += 1
      tellDamage(path, offset: damage.offset, lost: damage.lost, logger)
    }
  }

  /// Copies a torn write aside and clears its place, and syncs what is kept of the tail; false when a full disk doesn't
  /// let it be cleared: then nothing may be written behind the tail.
  private mutating func finishTail(
    _ recovery: SegmentRecovery, _ header: SegmentHeader, _ found: Found, _ file: inout any DiskFile
  ) -> Bool {
    var isCleared = true
    if let torn = recovery.torn {
      tornWrites += 1
      keepAside(torn, found)
    }
    do throws(DiskError) {
      if hasFailureSign {
        file = try copyWhole(header, through: recovery.dataEnd, found)
        try disk.unlink("\(directory)/\(SegmentName.failureSign)")
        return true
      }
      do throws(DiskError) {
        try clear(recovery.torn, behind: recovery.dataEnd, found)
      } catch {
        guard error.isOutOfSpace else { throw error }
        isCleared = false
      }
      try found.file.syncData()
    } catch {
      failure = error.description
      logger.error(
        "the log can be read but not written: it takes no events", about: found.path, ["why": .text(error.description)])
    }
    return isCleared
  }

  private func clear(_ torn: Range<Int>?, behind dataEnd: Int, _ found: Found) throws(DiskError) {
    guard let torn else { return try clearSector(after: dataEnd, found) }
    let reach = min(torn.upperBound - dataEnd, Self.tornReachMax)
    try found.file.writeBytes([UInt8](repeating: 0, count: max(0, reach)), at: dataEnd)
  }

  /// Fills the last sector up with zeros: what a write that never ended left there, too little to be told for a frame,
  /// would pass for damage once frames follow.
  ///
  /// No round of writing that ended leaves anything there, so none of the sector's events was answered.
  private func clearSector(after dataEnd: Int, _ found: Found) throws(DiskError) {
    let length = sectorAligned(dataEnd) - dataEnd
    let isClear = ScanWindow(found.file, end: found.size).withBytes(at: dataEnd, length) { rest in
      rest.prefix(length).allSatisfy { $0 == 0 }
    }
    if isClear { return }
    try found.file.writeBytes([UInt8](repeating: 0, count: length), at: dataEnd)
  }

  /// Puts a copy of what the segment holds in its place: pages whose sync failed look clean to the system, and no later
  /// sync writes them.
  ///
  /// Not written over where they lie, since a cut of power in the middle of it could harm sectors that are safe.
  private func copyWhole(
    _ header: SegmentHeader, through dataEnd: Int, _ found: Found
  ) throws(DiskError) -> any DiskFile {
    let temporary = "\(directory)/\(SegmentName.filling(found.number))"
    do throws(DiskError) {
      try write(header, through: dataEnd, found, to: temporary)
    } catch {
      try? disk.unlink(temporary)
      throw error
    }
    try disk.rename(temporary, to: found.path)
    try disk.syncDirectory(directory)
    return try disk.open(found.path, .readWrite)
  }

  private func write(
    _ header: SegmentHeader, through dataEnd: Int, _ found: Found, to path: String
  ) throws(DiskError) {
    let copy = try disk.open(path, .create)
    try copy.allocate(found.size)
    let window = ScanWindow(found.file, end: dataEnd)
    var offset = SegmentHeader.size
    while offset < dataEnd {
      let bytes = window.bytes(at: offset, min(ScanWindow.size, dataEnd - offset))
      if let fault = window.fault { throw fault }
      if bytes.isEmpty { break }
      try copy.write(bytes, at: offset)
      offset += bytes.count
    }
    withExtendedLifetime(window) {}
    var bytes = [UInt8](repeating: 0, count: SegmentHeader.size)
    bytes.withUnsafeMutableBytes { header.write(to: $0.baseAddress!) }
    try copy.writeBytes(bytes, at: 0)
    try copy.syncData()
  }

  private mutating func keepAside(_ torn: Range<Int>, _ found: Found) {
    let window = ScanWindow(found.file, end: found.size)
    let length = min(torn.count, Self.tornBytesMax)
    let bytes = window.withBytes(at: torn.lowerBound, length) { Array($0.prefix(length)) }
    let name = SegmentName.torn(found.number, offset: torn.lowerBound)
    logger.warning(
      "a write that never ended was cut off: no event of it was answered", about: found.path,
      ["offset": .integer(torn.lowerBound), "kept_as": .text("\(directory)/\(name)")])
    do throws(DiskError) {
      let file = try disk.open("\(directory)/\(name)", .create)
      try file.writeBytes(bytes, at: 0)
    } catch {
      logger.warning("a torn write can't be kept aside", about: found.path, ["why": .text(error.description)])
      return
    }
    tornFiles.append(name)
    while tornFiles.count > Self.tornFilesMax { try? disk.unlink("\(directory)/\(tornFiles.removeFirst())") }
  }

  func tellSkipped(_ end: UInt64) {
    logger.error(
      "a destination's position is past the log's end: what was between is gone, and its numbers are not given again",
      about: directory, ["first": .integer(Int(end)), "last": .integer(Int(nextSequence) - 1)])
  }
}

/// Lines about damaged places of one file in a short time: each names other events, so none is left out before that.
private let damageLinesMax = 10_000

/// One line that names a damaged place and what went with it.
func tellDamage(_ path: String, offset: Int, lost: Range<UInt64>, _ logger: Logger) {
  if lost.isEmpty {
    logger.error(
      "a part of the log is damaged; it names no event", about: path, burst: damageLinesMax,
      ["offset": .integer(offset)])
  } else {
    logger.error(
      "a record of the log is damaged: its events are lost", about: path, burst: damageLinesMax,
      [
        "offset": .integer(offset), "first_lost": .integer(Int(lost.lowerBound)),
        "last_lost": .integer(Int(lost.upperBound) - 1),
      ])
  }
}
