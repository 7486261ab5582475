import Clocks

extension EventIndex {
  /// Bytes of an entry in a frame.
  static let encodedSize = 48
  /// Lengths and offsets are packed into 21 bits.
  static let lengthMax = 1 << 21 - 1
  /// 48 bits of milliseconds, signed: the years 2491 BC to 6429.
  static let occurredAtRange = Timestamp(milliseconds: -1 << 47)...Timestamp(milliseconds: 1 << 47 - 1)

  /// Writes the entry's 48 bytes.
  @inline(__always)
  func write(to start: UnsafeMutableRawPointer) {
    // The id lies as it is spelled: its first byte first.
    start.storeBytes(of: idHigh.bigEndian, as: UInt64.self)
    start.storeBytes(of: idLow.bigEndian, toByteOffset: 8, as: UInt64.self)
    start.put(installHash, 16)
    start.put(userHash, 24)
    let packed = UInt64(length) | UInt64(nameOffset) << 21 | UInt64(occurredAtOffset) << 42
    start.put(packed, 32)
    let time = UInt64(bitPattern: occurredAt.milliseconds)
    start.put(UInt32(truncatingIfNeeded: time), 40)
    start.put(UInt16(truncatingIfNeeded: time >> 32), 44)
    start.put(flags.rawValue, 46)
  }

  /// Reads an entry of 48 bytes.
  @inline(__always)
  init(_ start: UnsafeRawPointer) {
    idHigh = UInt64(bigEndian: start.loadUnaligned(as: UInt64.self))
    idLow = UInt64(bigEndian: start.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    installHash = start.number(16)
    userHash = start.number(24)
    let packed: UInt64 = start.number(32)
    let mask: UInt64 = 1 << 21 - 1
    length = Int(packed & mask)
    nameOffset = Int(packed >> 21 & mask)
    occurredAtOffset = Int(packed >> 42 & mask)
    occurredAt = Self.occurredAt(start)
    flags = Flags(rawValue: start.number(46))
  }

  /// The one field that scans need of an entry.
  @inline(__always)
  static func occurredAt(_ start: UnsafeRawPointer) -> Timestamp {
    let low = UInt64(start.number(40, as: UInt32.self))
    let high = UInt64(start.number(44, as: UInt16.self))
    return Timestamp(milliseconds: Int64(bitPattern: (high << 32 | low) << 16) >> 16)
  }

  /// Whether every field fits its place in the entry.
  var isEncodable: Bool {
    length > 0 && length <= Self.lengthMax && nameOffset >= 0 && nameOffset <= Self.lengthMax && occurredAtOffset >= 0
      && occurredAtOffset <= Self.lengthMax && Self.occurredAtRange.contains(occurredAt)
  }
}
