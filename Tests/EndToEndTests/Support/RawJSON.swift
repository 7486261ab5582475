/// Takes JSON apart without changing a byte of it: which bytes of a text are which value. The text must be valid JSON.
struct RawJSON {
  private let bytes: [UInt8]
  private var at = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// An object's members in order, each value as it stands in the text.
  static func members(_ object: [UInt8]) -> [(key: String, value: [UInt8])] {
    var scanner = RawJSON(object)
    var found: [(key: String, value: [UInt8])] = []
    scanner.skipSpace()
    guard scanner.take(UInt8(ascii: "{")) else { return [] }
    while scanner.peek != UInt8(ascii: "}"), scanner.peek != nil {
      let key = scanner.value()
      scanner.skipSpace()
      _ = scanner.take(UInt8(ascii: ":"))
      let value = scanner.value()
      found.append((String(decoding: key.dropFirst().dropLast(), as: UTF8.self), value))
      scanner.skipSpace()
      guard scanner.take(UInt8(ascii: ",")) else { break }
      scanner.skipSpace()
    }
    return found
  }

  /// An array's elements in order, each as it stands in the text.
  static func elements(_ array: [UInt8]) -> [[UInt8]] {
    var scanner = RawJSON(array)
    var found: [[UInt8]] = []
    scanner.skipSpace()
    guard scanner.take(UInt8(ascii: "[")) else { return [] }
    scanner.skipSpace()
    while scanner.peek != UInt8(ascii: "]"), scanner.peek != nil {
      found.append(scanner.value())
      scanner.skipSpace()
      guard scanner.take(UInt8(ascii: ",")) else { break }
      scanner.skipSpace()
    }
    return found
  }

  /// The value of a member; where a key stands twice, the last counts.
  static func member(_ key: String, of object: [UInt8]) -> [UInt8]? {
    members(object).last { $0.key == key }?.value
  }

  /// A member's text without its quotes; nil when it is no string. Escapes stay as they are.
  static func string(_ key: String, of object: [UInt8]) -> String? {
    guard let value = member(key, of: object), value.first == UInt8(ascii: "\"") else { return nil }
    return String(decoding: value.dropFirst().dropLast(), as: UTF8.self)
  }

  private var peek: UInt8? { at < bytes.count ? bytes[at] : nil }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { at += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard peek == byte else { return false }
    at += 1
    skipSpace()
    return true
  }

  private mutating func value() -> [UInt8] {
    skipSpace()
    let start = at
    var depth = 0
    while let byte = peek {
      switch byte {
      case UInt8(ascii: "\""): skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        at += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return trimmed(start) }
        depth -= 1
        at += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        if depth == 0 { return trimmed(start) }
        at += 1
      default: at += 1
      }
      if depth == 0, byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "\"") { break }
    }
    return trimmed(start)
  }

  private func trimmed(_ start: Int) -> [UInt8] {
    var end = at
    while end > start, bytes[end - 1] <= 0x20 { end -= 1 }
    return Array(bytes[start..<end])
  }

  private mutating func skipString() {
    at += 1
    while let byte = peek, byte != UInt8(ascii: "\"") { at += byte == UInt8(ascii: "\\") ? 2 : 1 }
    at += 1
  }
}
