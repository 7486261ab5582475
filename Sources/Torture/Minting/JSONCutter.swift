/// Finds in a JSON text which bytes are which value, and changes none. The text must be valid JSON.
///
/// Written apart from the relay's own reader on purpose: what checks a reader must not be it.
struct JSONCutter {
  private let bytes: UnsafeRawBufferPointer
  private var at: Int
  private let end: Int

  private init(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) {
    self.bytes = bytes
    at = range.lowerBound
    end = range.upperBound
  }

  /// The members of the object in a range, in their order; none when it is no object.
  static func members(
    _ bytes: UnsafeRawBufferPointer, in range: Range<Int>
  ) -> [(key: Range<Int>, value: Range<Int>)] {
    var cutter = JSONCutter(bytes, range)
    var found: [(key: Range<Int>, value: Range<Int>)] = []
    guard cutter.take("{") else { return [] }
    while let first = cutter.peek(), first != UInt8(ascii: "}") {
      let key = cutter.value()
      guard key.count >= 2, cutter.take(":") else { return found }
      found.append((key.lowerBound + 1..<key.upperBound - 1, cutter.value()))
      guard cutter.take(",") else { break }
    }
    return found
  }

  /// The elements of the array in a range, in their order; none when it is no array.
  static func elements(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> [Range<Int>] {
    var cutter = JSONCutter(bytes, range)
    var found: [Range<Int>] = []
    guard cutter.take("[") else { return [] }
    while let first = cutter.peek(), first != UInt8(ascii: "]") {
      found.append(cutter.value())
      guard cutter.take(",") else { break }
    }
    return found
  }

  /// The value of a member, the last where a key stands twice.
  static func value(_ key: StaticString, _ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> Range<Int>? {
    members(bytes, in: range).last { member in
      member.key.count == key.utf8CodeUnitCount
        && key.withUTF8Buffer { $0.elementsEqual(bytes[member.key]) }
    }?.value
  }

  /// A member's text without its quotes, escapes as they are; nil when it is no string.
  static func text(_ key: StaticString, _ bytes: UnsafeRawBufferPointer, in range: Range<Int>) -> String? {
    guard let value = value(key, bytes, in: range), value.count >= 2, bytes[value.lowerBound] == UInt8(ascii: "\"")
    else { return nil }
    return String(decoding: bytes[value.lowerBound + 1..<value.upperBound - 1], as: UTF8.self)
  }

  /// The byte after white space.
  private mutating func peek() -> UInt8? {
    while at < end, bytes[at] <= 0x20 { at += 1 }
    return at < end ? bytes[at] : nil
  }

  private mutating func take(_ mark: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(mark.value) else { return false }
    at += 1
    return true
  }

  private mutating func value() -> Range<Int> {
    guard let first = peek() else { return at..<at }
    let start = at
    if first == UInt8(ascii: "\"") {
      skipString()
      return start..<at
    }
    var depth = 0
    while at < end {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        skipString()
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return start..<at }
        depth -= 1
        if depth == 0 {
          at += 1
          return start..<at
        }
      case UInt8(ascii: ","), 0x00...0x20:
        if depth == 0 { return start..<at }
      default: break
      }
      at += 1
    }
    return start..<at
  }

  private mutating func skipString() {
    at += 1
    while at < end, bytes[at] != UInt8(ascii: "\"") { at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1 }
    at = min(at + 1, end)
  }
}
