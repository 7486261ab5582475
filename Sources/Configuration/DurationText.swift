/// Durations as people write them: `500ms`, `10s`, `1h30m`, `400d`, `0`.
public enum DurationText {
  static let units: [(name: String, milliseconds: Int)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  /// The duration, to the millisecond, with a unit for each part: `1h30m`.
  public static func exact(_ duration: Duration) -> String { text(duration, partsMax: units.count) }

  /// The two largest parts, rounded down: `2d3h`, `1m5s`, `250ms`.
  public static func rounded(_ duration: Duration) -> String { text(duration, partsMax: 2) }

  /// The duration that a text says; nil when it says none.
  public static func duration(_ text: String) -> Duration? { try? parse(text) }

  private static func text(_ duration: Duration, partsMax: Int) -> String {
    var rest = duration.milliseconds
    guard rest > 0 else { return "0s" }
    var out = ""
    var parts = 0
    for unit in units where parts < partsMax {
      let count = rest / unit.milliseconds
      rest %= unit.milliseconds
      if count > 0 { out += "\(count)\(unit.name)" }
      if count > 0 || parts > 0 { parts += 1 }
    }
    return out
  }

  /// The duration that a text says: parts with a unit each, from the largest to the smallest.
  static func parse(_ text: String) throws(Misfit) -> Duration {
    if text == "0" { return .zero }
    var rest = Substring(text)
    var total = 0
    var smallest = Int.max
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest[digits.endIndex...].trimmingSpaces
      let name = rest.prefix { $0.isLetter }
      guard !digits.isEmpty else { throw Misfit("is no duration") }
      guard !rest.hasPrefix(".") else { throw Misfit("is no whole number; use a smaller unit") }
      guard !name.isEmpty else { throw Misfit("has no unit", hint: total == 0 ? "\(digits)s" : nil) }
      guard let unit = units.first(where: { $0.name == name }) else {
        throw Misfit("has an unknown unit", hint: meant(String(name)).map { "\(digits)\($0)" })
      }
      guard unit.milliseconds < smallest else { throw Misfit("has its units in the wrong order") }
      smallest = unit.milliseconds
      guard let number = Int(digits), number <= 1_000_000_000_000 / unit.milliseconds else {
        throw Misfit("is too long")
      }
      total += number * unit.milliseconds
      rest = rest[name.endIndex...].trimmingSpaces
    }
    guard smallest != Int.max else { throw Misfit("is empty") }
    return .milliseconds(total)
  }

  private static func meant(_ unit: String) -> String? {
    switch unit.lowercased() {
    case "msec", "millis", "millisecond", "milliseconds": "ms"
    case "s", "sec", "secs", "second", "seconds": "s"
    case "m", "min", "mins", "minute", "minutes": "m"
    case "h", "hr", "hrs", "hour", "hours": "h"
    case "d", "day", "days": "d"
    default: nil
    }
  }
}

extension Duration {
  /// Whole milliseconds, rounded down.
  var milliseconds: Int {
    Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}

extension ScalarFormat where Value == Duration {
  public static func duration(_ range: ClosedRange<Duration>) -> ScalarFormat {
    let (least, most) = (DurationText.exact(range.lowerBound), DurationText.exact(range.upperBound))
    return ScalarFormat(noun: "a duration from \(least) to \(most), in ms, s, m, h or d, such as 90s or 1h30m") {
      text throws(Misfit) in
      let duration = try DurationText.parse(text)
      guard duration >= range.lowerBound else { throw Misfit("is less than the least, \(least)") }
      guard duration <= range.upperBound else { throw Misfit("is more than the most, \(most)") }
      return duration
    }
  }
}
