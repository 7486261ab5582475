import Clocks

/// The name of a file of dead letters: when it was begun, and whose it is. `20261130T082330.512Z-upstream.ndjson`
struct DeadLetterFileName: Sendable, Equatable, Comparable, CustomStringConvertible {
  var begun: Timestamp
  /// The destination's name; what a file's name shouldn't hold is replaced.
  var destination: String

  static let ending = ".ndjson"

  init(begun: Timestamp, destination: String) {
    self.begun = begun
    self.destination = Self.safe(destination)
  }

  init?(_ name: String) {
    guard name.hasSuffix(Self.ending), let dash = name.firstIndex(of: "-") else { return nil }
    let stamp = Array(name[..<dash].utf8)
    // yyyymmddThhmmss.mmmZ
    guard stamp.count == 20, stamp[8] == UInt8(ascii: "T"), stamp[15] == UInt8(ascii: "."),
      stamp[19] == UInt8(ascii: "Z")
    else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      var value = 0
      for byte in stamp[range] {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        value = value * 10 + Int(byte - UInt8(ascii: "0"))
      }
      return value
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
      let minute = number(11..<13), let second = number(13..<15), let millisecond = number(16..<19),
      (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    let seconds =
      Timestamp.days(year: year, month: month, day: day) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    begun = Timestamp(milliseconds: seconds * 1000 + Int64(millisecond))
    destination = String(name[name.index(after: dash)...].dropLast(Self.ending.count))
  }

  var description: String {
    "\(String(begun.description.filter { $0 != "-" && $0 != ":" }))-\(destination)\(Self.ending)"
  }

  static func < (one: Self, other: Self) -> Bool {
    (one.begun, one.destination) < (other.begun, other.destination)
  }

  private static func safe(_ destination: String) -> String {
    String(
      destination.unicodeScalars.prefix(64).map { scalar -> Character in
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "_", "-": Character(scalar)
        default: "_"
        }
      })
  }
}
