import Clocks

/// The lengths of a draft's parts, and the times its events span: what must be known before it gets its place.
struct FrameShape {
  var appLength: Int
  var eventsLength = 0
  var length: Int
  var occurredAt = TimeRange()

  /// Measures a draft; nil when it is one that the log's format can't hold.
  init?(_ draft: borrowing FrameDraft) {
    appLength = draft.app.utf8.count
    guard (1...FrameHeader.appLengthMax).contains(appLength),
      (1...DirectoryEntry.eventsMax).contains(draft.events.count)
    else {
      return nil
    }
    for event in draft.events {
      guard event.index.isEncodable, event.offset >= 0, event.offset + event.index.length <= draft.body.count else {
        return nil
      }
      eventsLength += event.index.length + 1
      occurredAt.include(event.index.occurredAt)
    }
    eventsLength -= 1
    length = aligned(
      FrameHeader.size + appLength + draft.events.count * EventIndex.encodedSize + draft.envelope.count + eventsLength)
    guard length <= FrameHeader.lengthMax else { return nil }
  }

  /// Writes the whole frame to its place.
  func write(
    _ draft: borrowing FrameDraft, first: UInt64, life: UInt64, syncedOffset: Int, to start: UnsafeMutableRawPointer
  ) {
    var header = FrameHeader(
      life: life, firstSequence: first, receivedAt: draft.receivedAt, syncedOffset: UInt64(syncedOffset),
      eventCount: draft.events.count, envelopeLength: draft.envelope.count, eventsLength: eventsLength,
      appLength: appLength, kind: draft.kind.rawValue, dialect: draft.dialect)
    // (The zeros before the end are the padding; everything else is written over.)
    start.put(UInt64(0), length - 8)
    var app = draft.app
    app.withUTF8 { (start + FrameHeader.size).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    var index = start + header.indexOffset
    if let envelope = draft.envelope.baseAddress {
      (index + header.indexLength).copyMemory(from: envelope, byteCount: draft.envelope.count)
    }
    var bytes = start + header.eventsOffset
    let body = draft.body.baseAddress!
    for (at, event) in draft.events.enumerated() {
      if at > 0 {
        bytes.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
        bytes += 1
      }
      event.index.write(to: index)
      index += EventIndex.encodedSize
      bytes.copyMemory(from: body + event.offset, byteCount: event.index.length)
      bytes += event.index.length
    }
    header.payloadCRC = crc32c(UnsafeRawPointer(start) + header.payloadOffset, header.payloadLength)
    header.write(to: start)
  }
}
