import Clocks

/// A path with parts of a time, and perhaps an app, in it: `/data/%app/%Y/%m/%d/%H.ndjson`. The time is UTC.
///
/// `%Y` is the year in four digits; `%m`, `%d`, `%H` and `%M` are month, day, hour and minute in two; `%app` is the app's
/// name; `%%` is a percent sign.
public struct PathPattern: Sendable, Equatable {
  /// A part of a time, the coarsest first.
  enum Unit: Int, Sendable, CaseIterable, Comparable {
    case year, month, day, hour, minute

    static func < (one: Unit, other: Unit) -> Bool { one.rawValue < other.rawValue }

    var digits: Int { self == .year ? 4 : 2 }
  }

  enum Part: Sendable, Equatable {
    case literal(String)
    case time(Unit)
    case app

    var isLiteral: Bool { if case .literal = self { true } else { false } }
  }

  /// As it was read.
  public let text: String
  /// The path's components, each in parts.
  let components: [[Part]]

  /// Reads a pattern.
  /// - Throws: what is wrong with it, as a predicate.
  init(_ text: String) throws(PathPatternError) {
    guard text.hasPrefix("/") else { throw PathPatternError(description: "does not begin with /") }
    var components: [[Part]] = []
    for component in text.split(separator: "/") where component != "." {
      if component == ".." { throw PathPatternError(description: "holds .., which names no directory of its own") }
      components.append(try Self.parts(component))
    }
    guard !components.isEmpty, !text.hasSuffix("/") else {
      throw PathPatternError(description: "names no file")
    }
    self.components = components
    self.text = text
  }

  /// In place of one that has a fault.
  static let none = PathPattern(text: "", components: [])

  private init(text: String, components: [[Part]]) {
    self.text = text
    self.components = components
  }

  private static func parts(_ component: Substring) throws(PathPatternError) -> [Part] {
    var parts: [Part] = []
    var literal = ""
    var rest = component[...]
    while let character = rest.popFirst() {
      guard character == "%" else {
        literal.append(character)
        continue
      }
      let letter = rest.popFirst()
      let unit: Unit
      switch letter {
      case "%":
        literal.append("%")
        continue
      case "Y": unit = .year
      case "m": unit = .month
      case "d": unit = .day
      case "H": unit = .hour
      case "M": unit = .minute
      case "a" where rest.hasPrefix("pp"):
        rest = rest.dropFirst(2)
        if !literal.isEmpty { parts.append(.literal(literal)) }
        literal = ""
        parts.append(.app)
        continue
      default:
        throw PathPatternError(description: "holds the unknown field %\(letter.map(String.init) ?? "")")
      }
      if !literal.isEmpty { parts.append(.literal(literal)) }
      literal = ""
      parts.append(.time(unit))
    }
    if !literal.isEmpty { parts.append(.literal(literal)) }
    return parts
  }

  /// Whether each app has files of its own.
  var namesApp: Bool { components.joined().contains(.app) }

  /// An app's name as it stands in a file's: letters, digits, `_` and `-`, anything else replaced.
  static func fileName(ofApp app: String) -> String {
    String(app.unicodeScalars.map { isAppByte(UInt8(exactly: $0.value) ?? 0) ? Character($0) : "_" })
  }

  static func isAppByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  /// The path for a moment and an app.
  func path(at moment: Timestamp, app: String = "") -> String {
    let date = moment.calendarDate
    var out = ""
    for component in components {
      out += "/"
      for part in component {
        switch part {
        case .literal(let text): out += text
        case .app: out += Self.fileName(ofApp: app)
        case .time(let unit):
          let digits = String(date[unit])
          out += String(repeating: "0", count: max(0, unit.digits - digits.utf8.count)) + digits
        }
      }
    }
    return out
  }

  /// When the path's text changes next; nil when it never does.
  func nextChange(after moment: Timestamp) -> Timestamp? {
    let units = components.joined().compactMap { part in
      if case .time(let unit) = part { unit } else { nil }
    }
    return units.max().map { $0.end(of: moment) }
  }
}

/// What is wrong with a path pattern, as a predicate: `names no file`.
struct PathPatternError: Error, Sendable, Equatable, CustomStringConvertible {
  let description: String
}

extension Timestamp.CalendarDate {
  subscript(_ unit: PathPattern.Unit) -> Int {
    switch unit {
    case .year: year
    case .month: month
    case .day: day
    case .hour: hour
    case .minute: minute
    }
  }
}

extension PathPattern.Unit {
  /// The end of the year, month, day, hour or minute that a moment lies in.
  func end(of moment: Timestamp) -> Timestamp {
    let date = moment.calendarDate
    func day(_ year: Int, _ month: Int) -> Timestamp {
      Timestamp(milliseconds: Timestamp.days(year: year, month: month, day: 1) * 86_400_000)
    }
    func floored(_ length: Int64) -> Timestamp {
      Timestamp(milliseconds: moment.milliseconds - moment.milliseconds.modulo(length) + length)
    }
    return switch self {
    case .year: day(date.year + 1, 1)
    case .month: date.month == 12 ? day(date.year + 1, 1) : day(date.year, date.month + 1)
    case .day: floored(86_400_000)
    case .hour: floored(3_600_000)
    case .minute: floored(60_000)
    }
  }
}

extension Int64 {
  /// The remainder that is never negative.
  func modulo(_ divisor: Int64) -> Int64 {
    let remainder = self % divisor
    return remainder < 0 ? remainder + divisor : remainder
  }
}
