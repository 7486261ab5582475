import CSimdjson

/// The rule for names: `^[A-Za-z0-9_.:-]{1,64}$`, and a `$` before 1 to 63 of those is reserved.
enum EventName {
  @inline(__always)
  static func violation(of token: event_token, in body: UnsafeRawPointer) -> RuleViolation? {
    guard token.kind == JSONKind.string else { return .name }
    if !token.is_escaped {
      return violation(of: UnsafeRawBufferPointer(start: token.content(in: body), count: token.contentCount))
    }
    return token.withUnescaped(in: body, capacity: EventsLimits.nameLengthMax) { bytes in
      bytes.map { violation(of: $0) } ?? .name
    }
  }

  @inline(__always)
  static func violation(of name: UnsafeRawBufferPointer) -> RuleViolation? {
    guard name.count > 0, name.count <= EventsLimits.nameLengthMax else { return .name }
    let isReserved = name[0] == UInt8(ascii: "$")
    var isGood: UInt64 = 1
    for byte in isReserved ? UnsafeRawBufferPointer(rebasing: name[1...]) : name { isGood &= bit(of: byte) }
    if isReserved { return isGood == 1 && name.count > 1 ? .reservedName : .name }
    return isGood == 1 ? nil : .name
  }

  /// 1 for a byte that may stand in a name.
  @inline(__always)
  private static func bit(of byte: UInt8) -> UInt64 {
    // Bytes 0 to 63: "-", ".", the digits and ":"; bytes 64 to 127: the letters and "_".
    let low: UInt64 = 0x07FF_6000_0000_0000
    let high: UInt64 = 0x07FF_FFFE_87FF_FFFE
    let set = byte < 64 ? low : byte < 128 ? high : 0
    return set >> UInt64(byte & 63) & 1
  }
}
