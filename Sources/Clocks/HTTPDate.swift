/// Dates as HTTP writes them, in the three forms of RFC 9110, letters in any case:
/// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`, `Sun Nov  6 08:49:37 1994`.
enum HTTPDate {
  /// The moment that the whole text names; nil when it names none. The day of the week isn't compared with the date.
  static func parse(_ text: [UInt8], now: Timestamp) -> Timestamp? {
    let lower = text.map { $0 &- UInt8(ascii: "A") < 26 ? $0 | 0x20 : $0 }
    let words = lower.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    guard let first = words.first, isWeekday(first, long: words.count == 4) else { return nil }
    switch words.count {
    case 6:
      guard first.hasSuffix(","), words[5] == "gmt" else { return nil }
      return moment(year: number(words[3], 4), month: words[2], day: number(words[1], 2), time: words[4])
    case 4:
      let date = words[1].split(separator: "-", omittingEmptySubsequences: false).map { String($0) }
      guard first.hasSuffix(","), words[3] == "gmt", date.count == 3, let ofCentury = number(date[2], 2) else {
        return nil
      }
      let day = number(date[0], 2)
      return moment(year: fullYear(ofCentury, now: now), month: date[1], day: day, time: words[2])
    case 5:
      guard !first.hasSuffix(",") else { return nil }
      let day = number(words[2], words[2].utf8.count == 1 ? 1 : 2)
      return moment(year: number(words[4], 4), month: words[1], day: day, time: words[3])
    default: return nil
    }
  }

  /// A year of two digits that seems to be more than 50 years ahead is the last one that ended so.
  private static func fullYear(_ ofCentury: Int, now: Timestamp) -> Int {
    let thisYear = now.calendarDate.year
    let year = thisYear / 100 * 100 + ofCentury
    if year > thisYear + 50 { return year - 100 }
    return year <= thisYear - 50 ? year + 100 : year
  }

  private static func isWeekday(_ word: String, long: Bool) -> Bool {
    let days = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    let name = word.hasSuffix(",") ? String(word.dropLast()) : word
    return days.contains { long ? $0 == name : $0.prefix(3) == name }
  }

  private static func moment(year: Int?, month: String, day: Int?, time: String) -> Timestamp? {
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    let parts = time.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), 2) }
    guard let year, let day, let month = months.firstIndex(of: month), parts.count == 3 else { return nil }
    guard let hour = parts[0], let minute = parts[1], let second = parts[2] else { return nil }
    guard hour < 24, minute < 60, second <= 60 else { return nil }
    let days = Timestamp.days(year: year, month: month + 1, day: day)
    let midnight = Timestamp(milliseconds: days * 86_400_000)
    let date = midnight.calendarDate
    guard day >= 1, date.month == month + 1, date.day == day else { return nil }
    return midnight + .seconds(hour * 3600 + minute * 60 + second)
  }

  /// A number of exactly so many digits.
  private static func number(_ text: String, _ digits: Int) -> Int? {
    text.utf8.count == digits && text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } ? Int(text) : nil
  }
}
