import Clocks
import Observability

extension LogOpening {
  /// What a damaged header must have said, told from the footer or the frames; nil when nothing is left of either.
  ///
  /// What an earlier life of the file left behind has lower numbers than what the segment before ends with, and than
  /// any frame of the life after it.
  func guessHeader(_ found: Found) -> SegmentHeader? {
    let before = segments.last
    let end = before?.endSequence ?? 0
    let frames = newestLife(found)
    if let trailer = found.trailer, let footer = try? SegmentFooter.read(found.file, trailer, names: names),
      footer.firstSequence >= end, frames.map({ $0.newest.firstSequence < footer.endSequence }) ?? true
    {
      logger.error("a segment's header is damaged and was told from its footer", about: found.path)
      return header(found, life: footer.life, first: footer.firstSequence, createdAt: footer.createdAt)
    }
    guard let (newest, first) = frames, newest.firstSequence >= end else { return nil }
    logger.error("a segment's header is damaged and was told from its frames", about: found.path)
    return header(
      found, life: newest.life, first: before?.endSequence ?? first.firstSequence, createdAt: first.receivedAt)
  }

  private func header(_ found: Found, life: UInt64, first: UInt64, createdAt: Timestamp) -> SegmentHeader {
    let before = segments.last
    return SegmentHeader(
      life: life, number: found.number, firstSequence: first, previousEnd: before?.endSequence ?? first,
      acceptedBefore: before?.acceptedThrough ?? (first == 0 ? 0 : first - 1), createdAt: createdAt,
      holdsReplays: holdsReplays)
  }

  /// The frame with the highest number in the file, and the first one of the same life.
  private func newestLife(_ found: Found) -> (newest: FrameHeader, first: FrameHeader)? {
    let window = ScanWindow(found.file, end: found.size)
    var best: (newest: FrameHeader, first: FrameHeader)?
    var offset = SegmentHeader.size
    while offset + FrameHeader.size <= found.size {
      let bytes = window.bytes(at: offset, 64 * 1024)
      guard let start = bytes.baseAddress, bytes.count >= FrameHeader.size else { break }
      var at = 0
      while at + FrameHeader.size <= bytes.count {
        if start.number(at, as: UInt32.self) == FrameHeader.magic,
          case .header(let frame) = FrameHeader.read(start + at, available: bytes.count - at, life: nil),
          frame.firstSequence >= best?.newest.firstSequence ?? 0
        {
          best = (frame, best?.newest.life == frame.life ? best!.first : frame)
        }
        at += 8
      }
      // The last bytes are looked at again, with what follows them.
      offset += max(8, at - FrameHeader.size - FrameHeader.appLengthMax & ~7)
      if offset + FrameHeader.size + FrameHeader.appLengthMax > found.size { break }
    }
    return best
  }
}
