import Glibc

/// A moment on the wall clock: milliseconds since 1970-01-01T00:00:00Z, leap seconds left out.
public struct Timestamp: Sendable, Hashable, Comparable {
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Whether anything can have happened then, by a clock however wrong: within 285,000 years of 1970. What lies further off is
  /// no time, and adding to it may overflow.
  public var isPlausible: Bool { milliseconds.magnitude <= 1 << 53 }

  public static func < (one: Timestamp, other: Timestamp) -> Bool { one.milliseconds < other.milliseconds }

  public static func + (moment: Timestamp, delay: Duration) -> Timestamp {
    Timestamp(milliseconds: moment.milliseconds + delay.milliseconds)
  }

  public static func - (moment: Timestamp, delay: Duration) -> Timestamp {
    Timestamp(milliseconds: moment.milliseconds - delay.milliseconds)
  }

  /// The time from `other` to this moment; negative when this one is earlier.
  public static func - (moment: Timestamp, other: Timestamp) -> Duration {
    .milliseconds(moment.milliseconds - other.milliseconds)
  }
}

extension Duration {
  /// Whole milliseconds, rounded down towards zero.
  public var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }

  public var seconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}

extension Timestamp: CustomStringConvertible {
  /// ISO 8601 in UTC with milliseconds: `2026-10-23T12:04:31.512Z`.
  public var description: String { String(decoding: utf8, as: UTF8.self) }

  public var utf8: [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(24)
    write(to: &out)
    return out
  }

  /// Appends the moment as ISO 8601 in UTC with milliseconds, 24 bytes for the years 0000–9999.
  ///
  /// Years before and after have a sign and as many digits as they need, at least four: `-0001`, `+10000`. A zone carries a
  /// sender's `0000-01-01T00:00:00+01:00` there.
  public func write(to out: inout [UInt8]) {
    let date = calendarDate
    func digits(_ value: Int, _ count: Int) {
      var divisor = 1
      for _ in 1..<count { divisor *= 10 }
      while divisor > 0 {
        out.append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
        divisor /= 10
      }
    }
    if !(0...9999).contains(date.year) { out.append(UInt8(ascii: date.year < 0 ? "-" : "+")) }
    let year = date.year.magnitude
    digits(Int(year), max(4, String(year).utf8.count))
    out.append(UInt8(ascii: "-"))
    digits(date.month, 2)
    out.append(UInt8(ascii: "-"))
    digits(date.day, 2)
    out.append(UInt8(ascii: "T"))
    digits(date.hour, 2)
    out.append(UInt8(ascii: ":"))
    digits(date.minute, 2)
    out.append(UInt8(ascii: ":"))
    digits(date.second, 2)
    out.append(UInt8(ascii: "."))
    digits(date.millisecond, 3)
    out.append(UInt8(ascii: "Z"))
  }

  /// A moment taken apart, in UTC.
  public struct CalendarDate: Sendable, Equatable {
    public var year, month, day, hour, minute, second, millisecond: Int
  }

  /// The moment in UTC, by the proleptic Gregorian calendar.
  public var calendarDate: CalendarDate {
    func floorDivision(_ a: Int64, _ b: Int64) -> (quotient: Int64, remainder: Int64) {
      let (quotient, remainder) = a.quotientAndRemainder(dividingBy: b)
      return remainder < 0 ? (quotient - 1, remainder + b) : (quotient, remainder)
    }
    let (days, ofDay) = floorDivision(milliseconds, 86_400_000)
    // Days to a date, with the year beginning in March so that the leap day is its last.
    let shifted = days + 719_468
    let (era, dayOfEra) = floorDivision(shifted, 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return CalendarDate(
      year: Int(yearOfEra + era * 400 + (month <= 2 ? 1 : 0)), month: Int(month),
      day: Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1), hour: Int(ofDay / 3_600_000),
      minute: Int(ofDay / 60_000 % 60), second: Int(ofDay / 1000 % 60), millisecond: Int(ofDay % 1000))
  }

  /// The moment at which a date of the proleptic Gregorian calendar begins, in UTC. The date must exist.
  public static func days(year: Int, month: Int, day: Int) -> Int64 {
    let y = Int64(month <= 2 ? year - 1 : year)
    let era = (y >= 0 ? y : y - 399) / 400
    let yearOfEra = y - era * 400
    let dayOfYear = (153 * Int64(month > 2 ? month - 3 : month + 9) + 2) / 5 + Int64(day) - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

/// The wall clock, or what a test has in its place.
public struct WallClock: Sendable {
  private let read: @Sendable () -> Timestamp

  public init(_ read: @escaping @Sendable () -> Timestamp) { self.read = read }

  public var now: Timestamp { read() }

  public static let system = WallClock {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}
