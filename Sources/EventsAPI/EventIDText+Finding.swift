import Glibc

extension EventIDText {
  private static let name = Array(#""event_id""#.utf8)
  /// Where the underscore stands in it.
  private static let underscore = 6

  /// Whether an `event_id` that stands in some JSON is this one, in whatever case, told without parsing: fast, and not
  /// sure, since another object inside may have a member of the name.
  public static func occurs(_ id: (high: UInt64, low: UInt64), in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let base = bytes.baseAddress else { return false }
    return name.withUnsafeBytes { name in
      var at = underscore
      // (The underscore is the rarest byte of the name.)
      while at < bytes.count, let found = memchr(base + at, Int32(UInt8(ascii: "_")), bytes.count - at) {
        let start = UnsafeRawPointer(found) - base - underscore
        at = start + underscore + 1
        guard start + name.count <= bytes.count, memcmp(base + start, name.baseAddress!, name.count) == 0 else {
          continue
        }
        var value = start + name.count
        while value < bytes.count, isBetween(bytes[value]) { value += 1 }
        guard value + 1 + EventID.textLength < bytes.count, bytes[value] == UInt8(ascii: "\""),
          let parsed = EventID.parse(base + value + 1)
        else { continue }
        if parsed.high == id.high, parsed.low == id.low { return true }
      }
      return false
    }
  }

  private static func isBetween(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ":") || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }
}
