import Clocks
import EventsAPI
import JSON

/// The API's rules read off a tree of values, one after the other: nothing in it is quick, and it shares no line with the
/// reader that requests go through.
struct SlowJudge {
  let receivedAt: Timestamp

  /// The code of an element of `events` that is refused; nil for one that is taken.
  func refusal(_ event: JSONValue) -> RejectionCode? {
    guard event.members != nil else { return .invalidEvent }
    if Self.size(event) > 8192 { return .eventTooLarge }
    if let code = nameRefusal(event["name"]) { return code }
    guard Self.isUUID(event["event_id"]), Self.isID(event["anonymous_id"]) else { return .invalidID }
    if let user = event["user_id"], !user.isNull, !Self.isID(user) { return .invalidID }
    guard moment(event) != nil else { return .invalidTimestamp }
    return propertiesRefusal(event["properties"])
  }

  /// Whether another time takes the place of a taken event's own.
  func isClamped(_ event: JSONValue) -> Bool {
    guard let moment = moment(event) else { return false }
    return moment < receivedAt - .seconds(7 * 24 * 3600) || moment > receivedAt + .seconds(5 * 60)
  }

  func moment(_ event: JSONValue) -> Timestamp? { event["occurred_at"]?.string.flatMap(SlowTime.moment) }

  private func nameRefusal(_ name: JSONValue?) -> RejectionCode? {
    guard let name = name?.string else { return .invalidName }
    func isPlain(_ text: some Collection<Unicode.Scalar>) -> Bool {
      text.allSatisfy {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:-".unicodeScalars.contains($0)
      }
    }
    let scalars = name.unicodeScalars
    if scalars.first == "$", (2...64).contains(scalars.count), isPlain(scalars.dropFirst()) { return .reservedName }
    return (1...64).contains(scalars.count) && isPlain(scalars) ? nil : .invalidName
  }

  static func isUUID(_ value: JSONValue?) -> Bool {
    guard let text = value?.string else { return false }
    let groups = text.unicodeScalars.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.count) == [8, 4, 4, 4, 12]
      && groups.allSatisfy { $0.allSatisfy { "0123456789abcdefABCDEF".unicodeScalars.contains($0) } }
  }

  static func isID(_ value: JSONValue?) -> Bool {
    value?.string.map { (1...128).contains($0.unicodeScalars.count) } ?? false
  }

  private func propertiesRefusal(_ properties: JSONValue?) -> RejectionCode? {
    guard let properties, !properties.isNull else { return nil }
    guard let members = properties.members else { return .invalidProperties }
    var last: [[UInt8]: JSONValue] = [:]
    for member in members { last[Array(member.key.utf8)] = member.value }
    if last.count > 50 { return .tooManyProperties }
    for member in members where !(1...64).contains(member.key.unicodeScalars.count) { return .invalidProperties }
    for value in last.values {
      switch value {
      case .object, .array: return .invalidProperties
      case .string(let text) where text.unicodeScalars.count > 1024: return .invalidProperties
      default: break
      }
    }
    return nil
  }

  /// Bytes of the shortest JSON.
  static func size(_ value: JSONValue) -> Int {
    switch value {
    case .null: 4
    case .bool(let value): value ? 4 : 5
    case .number(let text): text.utf8.count
    case .string(let text): size(text)
    case .array(let elements): elements.reduce(2 + max(0, elements.count - 1)) { $0 + size($1) }
    case .object(let members):
      members.reduce(2 + max(0, members.count - 1)) { $0 + size($1.key) + 1 + size($1.value) }
    }
  }

  private static func size(_ text: String) -> Int {
    text.unicodeScalars.reduce(2) { sum, scalar in
      switch scalar {
      case "\"", "\\", "\u{8}", "\u{9}", "\u{A}", "\u{C}", "\u{D}": sum + 2
      case "\0"..<" ": sum + 6
      default: sum + UTF8.width(scalar)
      }
    }
  }
}

/// `occurred_at`, taken apart piece by piece.
enum SlowTime {
  static func moment(_ text: String) -> Timestamp? {
    var rest = Array(text.unicodeScalars)[...]
    func digits(_ count: Int) -> Int? {
      let taken = rest.prefix(count)
      guard taken.count == count, taken.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
      rest = rest.dropFirst(count)
      return taken.reduce(0) { $0 * 10 + Int($1.value) - 48 }
    }
    func take(_ one: Unicode.Scalar...) -> Bool {
      guard let first = rest.first, one.contains(first) else { return false }
      rest = rest.dropFirst()
      return true
    }
    guard let year = digits(4), take("-"), let month = digits(2), take("-"), let day = digits(2), take("T", "t", " "),
      let hour = digits(2), take(":"), let minute = digits(2), hour < 24, minute < 60, exists(year, month, day)
    else { return nil }
    var second = 0
    var milliseconds = 0
    if take(":") {
      guard let read = digits(2), read <= 60 else { return nil }
      second = read
      if take(".", ",") {
        let fraction = rest.prefix { ("0"..."9").contains($0) }
        guard !fraction.isEmpty else { return nil }
        rest = rest.dropFirst(fraction.count)
        milliseconds = Int(String(String.UnicodeScalarView(fraction.prefix(3) + ["0", "0"])).prefix(3)) ?? 0
      }
    }
    var east = 0
    if !take("Z", "z") {
      let sign = rest.first == "-" ? -1 : 1
      guard take("+", "-"), let hours = digits(2), hours < 24 else { return nil }
      var minutes = 0
      if !rest.isEmpty {
        _ = take(":")
        guard let read = digits(2), read < 60 else { return nil }
        minutes = read
      }
      east = sign * (hours * 60 + minutes)
    }
    guard rest.isEmpty else { return nil }
    let minutes = dayNumber(year, month, day) * 1440 + hour * 60 + minute - east
    return Timestamp(milliseconds: Int64((minutes * 60 + second) * 1000 + milliseconds))
  }

  private static func isLeap(_ year: Int) -> Bool { year % 400 == 0 || year % 4 == 0 && year % 100 != 0 }

  private static func length(_ month: Int, of year: Int) -> Int {
    [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
  }

  private static func exists(_ year: Int, _ month: Int, _ day: Int) -> Bool {
    (1...12).contains(month) && day >= 1 && day <= length(month, of: year)
  }

  /// Days from 1970, counted up year by year and month by month.
  private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
    var days = day - 1
    for earlier in 1..<max(month, 1) { days += length(earlier, of: year) }
    for earlier in min(year, 1970)..<max(year, 1970) {
      days += (year > 1970 ? 1 : -1) * (isLeap(earlier) ? 366 : 365)
    }
    return days
  }
}
