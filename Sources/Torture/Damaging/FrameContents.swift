/// The events of one record of the log, taken out of its bytes by what FORMAT.md says, apart from the log's own reader.
enum FrameContents {
  private static let headerBytes = 72
  private static let entryBytes = 48

  /// Where each event's bytes stand in the record, in the order of their numbers; nil when the bytes are no record.
  static func events(_ record: UnsafeRawBufferPointer) -> [Range<Int>]? {
    func number<N: FixedWidthInteger>(_ offset: Int, as type: N.Type) -> Int {
      Int(truncatingIfNeeded: N(littleEndian: record.loadUnaligned(fromByteOffset: offset, as: N.self)))
    }
    guard record.count >= headerBytes, record[..<4].elementsEqual("ERFr".utf8) else { return nil }
    let count = number(52, as: UInt32.self)
    let (index, envelope, events) = (
      number(56, as: UInt32.self), number(60, as: UInt32.self), number(64, as: UInt32.self)
    )
    let indexStart = headerBytes + number(68, as: UInt16.self)
    var at = indexStart + index + envelope
    guard index == count * entryBytes, at + events <= record.count else { return nil }
    var found: [Range<Int>] = []
    for entry in 0..<count {
      let length = number(indexStart + entry * entryBytes + 32, as: UInt64.self) & 0x1F_FFFF
      guard at + length <= record.count else { return nil }
      found.append(at..<at + length)
      at += length + 1
    }
    return found
  }
}
