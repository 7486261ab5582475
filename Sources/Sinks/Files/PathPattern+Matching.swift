import Clocks
import Records

extension PathPattern {
  /// The time and the app that a name tells, as far as it tells them.
  struct NamedTime: Sendable, Equatable {
    private(set) var fields: [Unit: Int] = [:]
    /// The app, as it stands in names; nil when they have none.
    private(set) var app: String?

    /// False when the app was told otherwise before.
    mutating func tell(app name: String) -> Bool {
      if let app { return app == name }
      app = name
      return true
    }

    /// False when the unit was told otherwise before.
    mutating func tell(_ unit: Unit, _ value: Int) -> Bool {
      if let told = fields[unit] { return told == value }
      fields[unit] = value
      return true
    }

    /// When the named period is over; nil when the name doesn't tell a whole date: an hour without its day, no time at all.
    var end: Timestamp? {
      guard let year = fields[.year] else { return nil }
      let told = Unit.allCases.prefix { fields[$0] != nil }
      guard told.count == fields.count, let finest = told.last else { return nil }
      let (month, day) = (fields[.month] ?? 1, fields[.day] ?? 1)
      guard 1...12 ~= month, 1...31 ~= day, 0...23 ~= fields[.hour] ?? 0, 0...59 ~= fields[.minute] ?? 0 else {
        return nil
      }
      let minutes = Int64(fields[.hour] ?? 0) * 60 + Int64(fields[.minute] ?? 0)
      let start = Timestamp.days(year: year, month: month, day: day) * 86_400_000 + minutes * 60_000
      return finest.end(of: Timestamp(milliseconds: start))
    }
  }

  /// What a component's name tells, on top of what those before it told; nil when it is none of this pattern's.
  ///
  /// The last component is a file's: it may have a number before its extension.
  func match(_ name: String, component index: Int, after told: NamedTime) -> NamedTime? {
    let parts = components[index]
    if let time = Self.match(name[...], parts, told) { return time }
    guard index == components.count - 1 else { return nil }
    return Self.withoutNumber(name).flatMap { Self.match($0[...], parts, told) }
  }

  private static func match(_ name: Substring, _ parts: [Part], _ told: NamedTime) -> NamedTime? {
    match(name.utf8[...], parts[...], told)
  }

  private static func match(_ name: Substring.UTF8View, _ parts: ArraySlice<Part>, _ told: NamedTime) -> NamedTime? {
    guard let part = parts.first else { return name.isEmpty ? told : nil }
    let following = parts.dropFirst()
    switch part {
    case .literal(let text):
      guard name.starts(with: text.utf8) else { return nil }
      return match(name.dropFirst(text.utf8.count), following, told)
    case .time(let unit):
      var told = told
      let digits = name.prefix(unit.digits)
      guard digits.count == unit.digits, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }),
        told.tell(unit, digits.reduce(0) { $0 * 10 + Int($1 - 0x30) })
      else { return nil }
      return match(name.dropFirst(unit.digits), following, told)
    case .app:
      // Where the name ends is told by what follows: the longest that leaves that right.
      var length = name.prefix(Self.appBytesMax).prefix { isAppByte($0) }.count
      while length > 0 {
        var told = told
        if told.tell(app: String(Substring(name.prefix(length)))),
          let told = match(name.dropFirst(length), following, told)
        {
          return told
        }
        length -= 1
      }
      return nil
    }
  }

  /// Bytes of an app's name.
  private static let appBytesMax = 64

  /// `12.ndjson` of `12.3.ndjson`; nil when the name has no number before its extension.
  private static func withoutNumber(_ name: String) -> String? {
    let (stem, ending) = RecordFile.split(name)
    for (stem, ending) in [(stem, ending), (name, "")] {
      guard let dot = stem.utf8.lastIndex(of: UInt8(ascii: ".")), dot > stem.startIndex else { continue }
      let digits = stem.utf8[stem.utf8.index(after: dot)...]
      guard !digits.isEmpty, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }), digits.first != 0x30 else { continue }
      return String(stem[..<dot]) + ending
    }
    return nil
  }
}
