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

  /// Reads a record; nil when its checksum is wrong, or its time is none: it was torn, or damaged.
  init?(_ bytes: UnsafeRawPointer) {
    func number(_ at: Int) -> UInt64 { UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)) }
    let head = number(0)
    guard UInt32(truncatingIfNeeded: head) == platform_crc32c(0, bytes + 4, Self.size - 4),
      let kind = Kind(rawValue: UInt32(head >> 32)), Timestamp(milliseconds: Int64(bitPattern: number(48))).isPlausible
    else { return nil }
    self.init(
      kind, EventKey(app: number(8), idHigh: number(16), idLow: number(24)), sequence: number(32), body: number(40),
      at: Timestamp(milliseconds: Int64(bitPattern: number(48))))
  }

  /// Writes the record's bytes.
  func write(to out: UnsafeMutableRawPointer) {
    func put(_ number: UInt64, _ at: Int) { out.storeBytes(of: number.littleEndian, toByteOffset: at, as: UInt64.self) }
    put(UInt64(kind.rawValue) << 32, 0)
    put(key.app, 8)
    put(key.idHigh, 16)
    put(key.idLow, 24)
    put(sequence, 32)
    put(body, 40)
    put(UInt64(bitPattern: at.milliseconds), 48)
    out.storeBytes(of: platform_crc32c(0, out + 4, Self.size - 4).littleEndian, as: UInt32.self)
  }

  /// The bytes of records, one behind the other.
  static func bytes(of records: [IDRecord]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: records.count * size) { buffer, count in
      count = records.count * size
      guard let start = UnsafeMutableRawPointer(buffer.baseAddress) else { return }
      for (at, record) in records.enumerated() { record.write(to: start + at * size) }
    }
  }
}
