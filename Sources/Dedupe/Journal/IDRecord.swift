import CPlatform
import Clocks

/// A line of the ids' journal: that an event was stored, or that it is to be forgotten.
///
/// 56 bytes, little-endian: CRC-32C of what follows it (4), kind (4), app, the id's halves, sequence number, body print, time
/// in milliseconds since 1970 (8 each).
struct IDRecord: Sendable, Equatable {
  enum Kind: UInt32, Sendable {
    case stored = 1
    case forgotten = 2
  }

  static let size = 56

  var kind: Kind
  var key: EventKey
  var sequence: UInt64
  var body: UInt64
  /// When the event was received, or forgotten.
  var at: Timestamp

  init(_ kind: Kind, _ key: EventKey, sequence: UInt64, body: UInt64, at: Timestamp) {
    self.kind = kind
    self.key = key
    self.sequence = sequence
    self.body = body
    self.at = at
  }

  /// Reads a record; nil when its checksum is wrong: it was torn, or damaged.
  init?(_ bytes: UnsafeRawPointer) {
    func number(_ at: Int) -> UInt64 { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)) }
    let head = number(0)
    guard UInt32(truncatingIfNeeded: head) == platform_crc32c(0, bytes + 4, Self.size - 4),
      let kind = Kind(rawValue: UInt32(head >> 32))
    else { return nil }
    self.init(
      kind, EventKey(app: number(8), idHigh: number(16), idLow: number(24)), sequence: number(32), body: number(40),
      at: Timestamp(milliseconds: Int64(bitPattern: number(48))))
  }

  func append(to out: inout [UInt8]) {
    let start = out.count
    let numbers = [
      UInt64(kind.rawValue) << 32, key.app, key.idHigh, key.idLow, sequence, body, UInt64(bitPattern: at.milliseconds),
    ]
    for number in numbers { withUnsafeBytes(of: number.littleEndian) { out.append(contentsOf: $0) } }
    out.withUnsafeMutableBytes { bytes in
      let record = bytes.baseAddress! + start
      let crc = platform_crc32c(0, record + 4, Self.size - 4)
      record.storeBytes(of: crc.littleEndian, as: UInt32.self)
    }
  }
}
