/// A frame in memory whose checksums hold and which is the one the directory names.
struct Frame {
  let header: FrameHeader
  let start: UnsafeMutableRawPointer

  init?(_ entry: DirectoryEntry, _ segment: Segment, _ start: UnsafeMutableRawPointer) {
    guard case .header(let header) = FrameHeader.read(start, available: entry.length, life: segment.life),
      header.length == entry.length, header.firstSequence == entry.first(in: segment), header.eventCount == entry.count,
      crc32c(UnsafeRawPointer(start) + header.payloadOffset, header.payloadLength) == header.payloadCRC,
      header.eventsFit(UnsafeRawPointer(start))
    else { return nil }
    self.header = header
    self.start = start
  }

  /// When its events occurred.
  var occurredAt: TimeRange {
    var range = TimeRange()
    for i in 0..<header.eventCount {
      range.include(EventIndex.occurredAt(UnsafeRawPointer(start) + header.indexOffset + i * EventIndex.encodedSize))
    }
    return range
  }

  /// The number that an event of a frame to be sent again first had; nil when the frame has none.
  func original(_ index: Int) -> UInt64? {
    guard header.envelopeLength >= header.eventCount * 8 else { return nil }
    return UnsafeRawPointer(start).number(header.indexOffset + header.indexLength + index * 8, as: UInt64.self)
  }

  /// The place of the frame's app in the batch's list, which it joins when it isn't the last one there.
  func app(into batch: EventBatch) -> Int {
    let bytes = UnsafeRawBufferPointer(start: start + FrameHeader.size, count: header.appLength)
    if let last = batch.apps.last, last.utf8.count == bytes.count, last.utf8.elementsEqual(bytes) {
      return batch.apps.count - 1
    }
    batch.apps.append(String(decoding: bytes, as: UTF8.self))
    return batch.apps.count - 1
  }
}
