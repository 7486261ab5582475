import Clocks

extension Frame {
  /// Writes a frame of some of this one's events, for a segment of another life.
  ///
  /// - Parameters:
  ///   - numbers: those of the events; they lie in the frame.
  ///   - holdsReplays: the envelope begins with 8 bytes for each event.
  ///   - target: room for as many bytes as this frame has.
  /// - Returns: how long the new one is, and when its events occurred.
  func write(
    _ numbers: ClosedRange<UInt64>, life: UInt64, holdsReplays: Bool, to target: UnsafeMutableRawPointer
  ) -> (length: Int, occurredAt: TimeRange) {
    let from = Int(numbers.lowerBound - header.firstSequence)
    let count = Int(numbers.upperBound - numbers.lowerBound) + 1
    let index = UnsafeRawPointer(start) + header.indexOffset
    var before = 0
    var length = count - 1
    var occurredAt = TimeRange()
    for i in 0..<from + count {
      let event = EventIndex(index + i * EventIndex.encodedSize)
      if i < from {
        before += event.length + 1
      } else {
        length += event.length
        occurredAt.include(event.occurredAt)
      }
    }
    let envelope = self.envelope(from..<from + count, holdsReplays: holdsReplays)
    var new = FrameHeader(
      life: life, firstSequence: numbers.lowerBound, receivedAt: header.receivedAt, syncedOffset: 0, eventCount: count,
      envelopeLength: envelope.reduce(0) { $0 + $1.count }, eventsLength: length, appLength: header.appLength,
      kind: header.kind, dialect: header.dialect)
    // (The zeros before the end are the padding; everything else is written over.)
    target.put(UInt64(0), new.length - 8)
    (target + FrameHeader.size).copyMemory(from: start + FrameHeader.size, byteCount: header.appLength)
    var at = target + new.indexOffset
    at.copyMemory(from: index + from * EventIndex.encodedSize, byteCount: new.indexLength)
    at += new.indexLength
    for part in envelope where !part.isEmpty {
      at.copyMemory(from: part.baseAddress!, byteCount: part.count)
      at += part.count
    }
    at.copyMemory(from: start + header.eventsOffset + before, byteCount: length)
    new.payloadCRC = crc32c(UnsafeRawPointer(target) + new.payloadOffset, new.payloadLength)
    new.write(to: target)
    return (new.length, occurredAt)
  }

  /// The parts of the envelope that go with some of the events: by their places in the frame.
  private func envelope(_ events: Range<Int>, holdsReplays: Bool) -> [UnsafeRawBufferPointer] {
    let whole = UnsafeRawBufferPointer(
      start: start + header.indexOffset + header.indexLength, count: header.envelopeLength)
    let numbers = header.eventCount * 8
    guard holdsReplays, whole.count >= numbers else { return [whole] }
    return [
      UnsafeRawBufferPointer(rebasing: whole[events.lowerBound * 8..<events.upperBound * 8]),
      UnsafeRawBufferPointer(rebasing: whole[numbers...]),
    ]
  }
}
