@testable import EventLog

/// A segment's bytes as they came, and with the checksums put right: a fuzzer guesses fields, and no checksums.
struct SegmentImage {
  private(set) var bytes: [UInt8]

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

  /// Puts the checksums of all that looks like a header, a frame, a footer or a trailer right.
  ///
  /// - Parameter life: what all of them are given for the life of the first; false leaves it as it is.
  mutating func mend(life isOneLife: Bool) {
    guard bytes.count >= SegmentHeader.size else { return }
    let end = bytes.count
    bytes.withUnsafeMutableBytes { bytes in
      let start = bytes.baseAddress!
      let life = UnsafeRawPointer(start).number(16, as: UInt64.self)
      Self.mendHeader(start)
      var at = SegmentHeader.size
      while at + FrameHeader.size <= end {
        if UnsafeRawPointer(start + at).number(0, as: UInt32.self) == FrameHeader.magic {
          if isOneLife { (start + at).put(life, 16) }
          Self.mendFrame(start + at, available: end - at)
        }
        at += 8
      }
      Self.mendEnd(start, end, isOneLife ? life : nil)
    }
  }

  private static func mendHeader(_ start: UnsafeMutableRawPointer) {
    let (head, tail) = (UnsafeRawPointer(start), UnsafeRawPointer(start + 16))
    start.put(crc32c(tail, SegmentHeader.size - 16, from: crc32c(head, 12)), 12)
  }

  private static func mendFrame(_ start: UnsafeMutableRawPointer, available: Int) {
    let frame = UnsafeRawPointer(start)
    let appLength = Int(frame.number(68, as: UInt16.self))
    let payload = [56, 60, 64].reduce(0) { $0 + Int(frame.number($1, as: UInt32.self)) }
    let payloadOffset = FrameHeader.size + appLength
    if payloadOffset + payload <= available {
      start.put(crc32c(frame + payloadOffset, payload), 12)
    }
    let headerLength = Int(frame.number(6, as: UInt16.self))
    guard headerLength >= FrameHeader.size, headerLength + appLength <= available else { return }
    start.put(FrameHeader.checksum(frame, headerLength: headerLength, appLength: appLength), 8)
  }

  /// The trailer, and the footer that it names with the chunks of its lists.
  private static func mendEnd(_ start: UnsafeMutableRawPointer, _ end: Int, _ life: UInt64?) {
    guard end >= SegmentHeader.size + SegmentFooter.trailerSize else { return }
    let trailer = start + end - SegmentFooter.trailerSize
    guard UnsafeRawPointer(trailer).number(0, as: UInt64.self) == SegmentFooter.trailerMagic else { return }
    if let life { trailer.put(life, 16) }
    let (head, tail) = (UnsafeRawPointer(trailer), UnsafeRawPointer(trailer + 16))
    trailer.put(crc32c(tail, SegmentFooter.trailerSize - 16, from: crc32c(head, 12)), 12)
    guard let offset = Int(exactly: UnsafeRawPointer(trailer).number(24, as: UInt64.self)), offset >= 0,
      offset < end - SegmentFooter.headSize
    else { return }
    let footer = start + offset
    if let life { footer.put(life, 16) }
    let rows = Int(UnsafeRawPointer(footer).number(48, as: UInt32.self))
    guard rows <= 64, offset + SegmentFooter.headSize + rows * SegmentFooter.rowSize <= end else { return }
    for row in 0..<rows {
      let share = UnsafeRawPointer(footer) + SegmentFooter.headSize + row * SegmentFooter.rowSize
      let frames = Int(share.number(0, as: UInt32.self))
      let list = offset + Int(share.number(56, as: UInt32.self))
      let size = frames * DirectoryEntry.size
      guard frames <= SegmentFooter.chunkEntries, list + size + SegmentFooter.chunkCRCSize <= end else { continue }
      (start + list).put(crc32c(UnsafeRawPointer(start + list), size), size)
    }
    let length = SegmentFooter.headSize - 16 + rows * SegmentFooter.rowSize
    footer.put(crc32c(UnsafeRawPointer(footer + 16), length, from: crc32c(UnsafeRawPointer(footer), 12)), 12)
  }
}
