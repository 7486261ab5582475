/// Base64 as in RFC 4648, section 4: `+` and `/`, padded with `=`.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let pad = UInt8(ascii: "=")

  static func encode(_ bytes: some Sequence<UInt8>) -> String {
    var out: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        out.append(alphabet[Int(bits >> UInt32(count) & 63)])
      }
    }
    if count > 0 { out.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
    while out.count % 4 != 0 { out.append(pad) }
    return String(decoding: out, as: UTF8.self)
  }

  /// The bytes a text stands for, the padding there or left out; nil when the text isn't Base64: with another letter, a
  /// length that none has, or bits behind the last byte.
  static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var letters = Array(text.utf8)
    let padding = letters.reversed().prefix { $0 == pad }.count
    if padding > 0 {
      guard padding <= 2, letters.count % 4 == 0 else { return nil }
      letters.removeLast(padding)
    }
    guard letters.count % 4 != 1 else { return nil }
    var out: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for letter in letters {
      guard let value = value(of: letter) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        out.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bits & (1 << UInt32(count) - 1) == 0 ? out : nil
  }

  private static func value(of letter: UInt8) -> UInt32? {
    switch letter {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(letter - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(letter - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(letter - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}
