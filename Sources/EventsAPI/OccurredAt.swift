import CSimdjson
import Clocks

/// `occurred_at`: ISO 8601 with a time zone.
///
/// `2026-10-23T12:00:00.123Z`: a date, then `T`, `t` or a space, then the time of day, then `Z`, `z`, `±hh:mm`, `±hhmm`
/// or `±hh`. Seconds may be left out; second 60 is the next minute's first; a fraction has any number of digits after a
/// point or a comma, those past the milliseconds are cut. A date that doesn't exist is none, and neither is hour 24.
public enum OccurredAt {
  static func parse(_ token: event_token, in body: UnsafeRawPointer) -> Timestamp? {
    if !token.is_escaped {
      return parse(UnsafeRawBufferPointer(start: token.content(in: body), count: token.contentCount))
    }
    // (A fraction may have any number of digits, and so may one that is spelled in escapes. No text grows by being unescaped.)
    return token.withUnescaped(in: body, capacity: token.contentCount) { bytes in bytes.flatMap { parse($0) } }
  }

  /// The moment that the whole text names; nil when it names none.
  public static func parse(_ text: UnsafeRawBufferPointer) -> Timestamp? {
    guard text.count >= 17, let base = text.baseAddress else { return nil }
    guard
      let century = two(base, 0), let ofCentury = two(base, 2), let month = two(base, 5), let day = two(base, 8),
      let hour = two(base, 11), let minute = two(base, 14)
    else { return nil }
    let marks = (base[4], base[7], base[13])
    let separator = base[10] | 0x20
    guard marks == (UInt8(ascii: "-"), UInt8(ascii: "-"), UInt8(ascii: ":")) else { return nil }
    guard separator == UInt8(ascii: "t") || base[10] == UInt8(ascii: " ") else { return nil }
    let year = century * 100 + ofCentury
    guard month >= 1, month <= 12, day >= 1, day <= days(inMonth: month, of: year) else { return nil }
    guard hour <= 23, minute <= 59 else { return nil }
    var rest = Rest(text: text, at: 16)
    guard let ofMinute = rest.secondAndFraction(), let zone = rest.zone() else { return nil }
    let dayNumber = Timestamp.days(year: year, month: month, day: day)
    let ofDay = (hour * 60 + minute - zone) * 60_000 + ofMinute
    return Timestamp(milliseconds: dayNumber * 86_400_000 + Int64(ofDay))
  }

  @inline(__always)
  fileprivate static func two(_ base: UnsafeRawPointer, _ offset: Int) -> Int? {
    let tens = base[offset] &- UInt8(ascii: "0")
    let units = base[offset + 1] &- UInt8(ascii: "0")
    return tens < 10 && units < 10 ? Int(tens) * 10 + Int(units) : nil
  }

  @inline(__always)
  private static func days(inMonth month: Int, of year: Int) -> Int {
    if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
    return 30 + (month ^ month >> 3) & 1
  }
}

/// What stands behind the minute.
private struct Rest {
  let text: UnsafeRawBufferPointer
  var at: Int

  /// Milliseconds from the minute's start.
  @inline(__always)
  mutating func secondAndFraction() -> Int? {
    guard text[at] == UInt8(ascii: ":") else { return 0 }
    guard text.count > at + 3, let second = OccurredAt.two(text.baseAddress!, at + 1), second <= 60 else { return nil }
    at += 3
    guard text[at] == UInt8(ascii: ".") || text[at] == UInt8(ascii: ",") else { return second * 1000 }
    at += 1
    let first = at
    var milliseconds = 0
    var unit = 100
    while at < text.count, text[at] &- UInt8(ascii: "0") < 10 {
      milliseconds += Int(text[at] &- UInt8(ascii: "0")) * unit
      unit /= 10
      at += 1
    }
    return at > first && at < text.count ? second * 1000 + milliseconds : nil
  }

  /// Minutes east of Greenwich, when the text ends with the zone.
  @inline(__always)
  func zone() -> Int? {
    let sign = text[at]
    let left = text.count - at - 1
    if sign | 0x20 == UInt8(ascii: "z") { return left == 0 ? 0 : nil }
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
    guard left >= 2, let hours = OccurredAt.two(text.baseAddress!, at + 1), hours <= 23 else { return nil }
    var minutes = 0
    if left > 2 {
      let isColon = text[at + 3] == UInt8(ascii: ":")
      guard left == (isColon ? 5 : 4), let read = OccurredAt.two(text.baseAddress!, at + (isColon ? 4 : 3)), read <= 59
      else { return nil }
      minutes = read
    }
    return (hours * 60 + minutes) * (sign == UInt8(ascii: "-") ? -1 : 1)
  }
}

extension UnsafeRawPointer {
  @inline(__always)
  fileprivate subscript(offset: Int) -> UInt8 { load(fromByteOffset: offset, as: UInt8.self) }
}
