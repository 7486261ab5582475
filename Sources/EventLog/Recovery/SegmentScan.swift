import Clocks

/// Walks the frames of a segment from front to end, each checked whole, in bounded memory.
struct SegmentScan {
  /// What stands somewhere in the segment, in the order of its offsets.
  enum Item {
    /// A whole frame of this life.
    case frame(FrameHeader, offset: Int, app: String, occurredAt: TimeRange)
    /// No whole frame; the header and app when at least these are right.
    case broken(offset: Int, end: Int, FrameHeader?, app: String?)
    /// Nothing of this life up to `end`.
    case nothing(offset: Int, end: Int)
  }

  let window: ScanWindow
  let life: UInt64
  let path: String
  private var offset = SegmentHeader.size
  private let firstSequence: UInt64
  private var nextSequence: UInt64

  init(_ file: any DiskFile, end: Int, life: UInt64, firstSequence: UInt64) {
    window = ScanWindow(file, end: end)
    self.life = life
    path = file.path
    self.firstSequence = firstSequence
    nextSequence = firstSequence
  }

  /// The next item; nil at the end.
  ///
  /// - Throws: ``LogError`` when a newer program wrote the frame.
  mutating func next() throws(LogError) -> Item? {
    skipPadding()
    guard offset < window.end else { return nil }
    let start = offset
    switch try check(offset) {
    case .frame(let header, let app, let occurredAt):
      offset += header.length
      nextSequence = header.endSequence
      return .frame(header, offset: start, app: app, occurredAt: occurredAt)
    case .brokenPayload(let header, let app):
      // The header is to be trusted, the length in it too.
      offset += header.length
      return .broken(offset: start, end: offset, header, app: app)
    case .broken(let isOfThisLife):
      offset = try findFrame(after: offset)
      return isOfThisLife
        ? .broken(offset: start, end: offset, nil, app: nil) : .nothing(offset: start, end: offset)
    }
  }

  /// Goes over the zeros that fill up the last sector of a round.
  private mutating func skipPadding() {
    let boundary = min(sectorAligned(offset), window.end)
    guard boundary > offset else { return }
    let bytes = window.bytes(at: offset, boundary - offset)
    if bytes.count >= boundary - offset, bytes[..<(boundary - offset)].allSatisfy({ $0 == 0 }) { offset = boundary }
  }

  private enum Check {
    case frame(FrameHeader, app: String, TimeRange)
    case brokenPayload(FrameHeader, app: String)
    case broken(isOfThisLife: Bool)
  }

  private func check(_ offset: Int) throws(LogError) -> Check {
    let head = window.bytes(at: offset, FrameHeader.size + FrameHeader.appLengthMax)
    guard let start = head.baseAddress else { return .broken(isOfThisLife: false) }
    switch FrameHeader.read(start, available: head.count, life: life) {
    case .newer(let version): throw Self.newer(path, version)
    case .otherLife, .short: return .broken(isOfThisLife: false)
    case .broken(let isOfThisLife): return .broken(isOfThisLife: isOfThisLife)
    case .header(let header):
      guard header.firstSequence >= nextSequence, header.endSequence - firstSequence <= Plausible.spanMax else {
        return .broken(isOfThisLife: false)
      }
      let bytes = window.bytes(at: offset, header.length)
      guard let start = bytes.baseAddress, bytes.count >= header.length else { return .broken(isOfThisLife: true) }
      let app = String(
        decoding: UnsafeRawBufferPointer(start: start + FrameHeader.size, count: header.appLength), as: UTF8.self)
      guard crc32c(start + header.payloadOffset, header.payloadLength) == header.payloadCRC, header.eventsFit(start)
      else {
        return .brokenPayload(header, app: app)
      }
      var occurredAt = TimeRange()
      for i in 0..<header.eventCount {
        occurredAt.include(EventIndex.occurredAt(start + header.indexOffset + i * EventIndex.encodedSize))
      }
      return .frame(header, app: app, occurredAt)
    }
  }

  static func newer(_ path: String, _ version: Int) -> LogError {
    LogError(
      "\(path) has format version \(version), this program reads up to \(FrameHeader.version): use the newer "
        + "event-relay that wrote it")
  }

  /// Where the next whole frame begins; the segment's end when there is none.
  private func findFrame(after offset: Int) throws(LogError) -> Int {
    var offset = offset + 8
    while offset + FrameHeader.size <= window.end {
      let bytes = window.bytes(at: offset, 64 * 1024)
      guard let start = bytes.baseAddress, bytes.count >= FrameHeader.size else { break }
      var at = 0
      while at + FrameHeader.size <= bytes.count {
        if start.number(at, as: UInt32.self) == FrameHeader.magic, start.number(at + 16, as: UInt64.self) == life {
          switch try check(offset + at) {
          case .frame, .brokenPayload: return offset + at
          case .broken: break
          }
          // The look may have moved the window.
          break
        }
        at += 8
      }
      offset += at + FrameHeader.size <= bytes.count ? at + 8 : at
    }
    return window.end
  }
}
