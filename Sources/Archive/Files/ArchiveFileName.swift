import Clocks

/// The names of an archive's files: `20261130T112447.123Z-00000000000000000001-00000000000000000500.ndjson.gz`.
///
/// First the time that the file began at, which never runs backwards within an archive, then the numbers of its first and
/// last event: so that names sort as the events do. A file that is still written to has no last number yet.
public struct ArchiveFileName: Sendable, Hashable, Comparable {
  public var time: Timestamp
  public var first: UInt64
  /// Nil while the file is open.
  public var last: UInt64?

  public init(time: Timestamp, first: UInt64, last: UInt64? = nil) {
    self.time = time
    self.first = first
    self.last = last
  }

  static let linesEnding = ".ndjson.gz"
  static let saltsEnding = ".salts"
  /// Behind the whole name of what isn't published.
  static let partEnding = ".part"
  /// Behind the whole name of what can't be continued and isn't thrown away.
  static let asideEnding = ".aside"
  public static let manifest = "manifest.ndjson"

  /// What the names of the lines and of the salts have in common.
  var stem: String {
    var out: [UInt8] = []
    time.write(to: &out)
    out.removeAll { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ":") }
    let numbers = [first, last].compactMap { $0 }.map { "-" + Self.digits($0) }.joined()
    return String(decoding: out, as: UTF8.self) + numbers
  }

  /// The gzip file of the lines.
  public var lines: String { stem + Self.linesEnding + (last == nil ? Self.partEnding : "") }
  /// The file of their salts.
  public var salts: String { stem + Self.saltsEnding + (last == nil ? Self.partEnding : "") }

  /// The name under which the file was open.
  var open: ArchiveFileName { ArchiveFileName(time: time, first: first) }

  func published(last: UInt64) -> ArchiveFileName { ArchiveFileName(time: time, first: first, last: last) }

  public static func < (one: ArchiveFileName, other: ArchiveFileName) -> Bool {
    (one.time, one.first, one.last ?? .max) < (other.time, other.first, other.last ?? .max)
  }

  private static func digits(_ number: UInt64) -> String {
    let text = String(number)
    return String(repeating: "0", count: 20 - text.utf8.count) + text
  }
}

extension ArchiveFileName {
  /// Whether a file of a name holds lines or salts.
  enum Content: Sendable, Equatable { case lines, salts }

  /// Takes a file's name apart; nil when no archive gives such a name.
  static func parse(_ name: String) -> (name: ArchiveFileName, content: Content)? {
    var rest = name[...]
    let isPart = rest.hasSuffix(partEnding)
    if isPart { rest = rest.dropLast(partEnding.count) }
    let content: Content
    if rest.hasSuffix(linesEnding) {
      content = .lines
      rest = rest.dropLast(linesEnding.count)
    } else if rest.hasSuffix(saltsEnding) {
      content = .salts
      rest = rest.dropLast(saltsEnding.count)
    } else {
      return nil
    }
    guard let parsed = ArchiveFileName(stem: rest), isPart == (parsed.last == nil) else { return nil }
    return (parsed, content)
  }

  /// Reads the name of a published file of lines.
  public init?(published name: String) {
    guard let parsed = Self.parse(name), parsed.content == .lines, parsed.name.last != nil else { return nil }
    self = parsed.name
  }

  private init?(stem: Substring) {
    let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
    guard 2...3 ~= parts.count, parts.dropFirst().allSatisfy({ $0.utf8.count == 20 }),
      let time = Self.time(parts[0]), let first = UInt64(parts[1])
    else { return nil }
    var last: UInt64?
    if parts.count == 3 {
      guard let number = UInt64(parts[2]) else { return nil }
      last = number
    }
    self.init(time: time, first: first, last: last)
    // Whatever reads well and isn't written so is another's: a sign, a 31st of February.
    guard self.stem == stem else { return nil }
  }

  /// Reads `20261130T112447.123Z`.
  static func time(_ text: Substring) -> Timestamp? {
    let bytes = Array(text.utf8)
    guard bytes.count == 20 else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      var out = 0
      for byte in bytes[range] {
        guard byte >= 0x30, byte <= 0x39 else { return nil }
        out = out * 10 + Int(byte - 0x30)
      }
      return out
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
      let minute = number(11..<13), let second = number(13..<15), let millisecond = number(16..<19),
      1...12 ~= month, 1...31 ~= day, hour < 24, minute < 60, second < 60
    else { return nil }
    let seconds =
      Timestamp.days(year: year, month: month, day: day) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    return Timestamp(milliseconds: seconds * 1000 + Int64(millisecond))
  }
}
