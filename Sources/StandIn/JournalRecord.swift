import Clocks
import Dialects
import EventLog

/// One thing the stand-in stored, as a line of its file and as an element of its listing:
/// `{"seq":0,"received_at":"…Z","app":"key-1234abcd","kind":"event","protocol":"datalyr","event":{…as it came…}}`.
///
/// A clamped event also has `occurred_at_used`. Line breaks between an event's tokens become spaces. Lines of older programs
/// have no `protocol`: theirs is the first one.
struct JournalRecord {
  var sequence: UInt64
  var receivedAt: Timestamp
  var app: String
  var kind: EventKind
  /// Nil for one that this program doesn't know.
  var dialect: (any Dialect)?
  /// The event's own bytes.
  var event: Range<Int>

  /// Appends a line.
  static func write(
    sequence: UInt64, receivedAt: Timestamp, app: String, kind: EventKind, dialect: any Dialect, isClamped: Bool,
    hasLineBreaks: Bool, event: UnsafeRawBufferPointer, to out: inout [UInt8]
  ) {
    out += "{\"seq\":\(sequence),\"received_at\":\"".utf8
    receivedAt.write(to: &out)
    out += "\",\"app\":\"\(app)\",\"kind\":\"\(kind.name)\",\"protocol\":\"\(dialect.name)\"".utf8
    if isClamped {
      out += ",\"occurred_at_used\":\"".utf8
      receivedAt.write(to: &out)
      out.append(UInt8(ascii: "\""))
    }
    out += ",\"event\":".utf8
    let start = out.count
    out += event
    if hasLineBreaks {
      // In what is JSON they can only stand between tokens.
      for index in start..<out.count where out[index] == 0x0A || out[index] == 0x0D { out[index] = 0x20 }
    }
    out += "}\n".utf8
  }

  /// Reads a line, without its end, that `write` has written; nil for another.
  init?(line: UnsafeRawBufferPointer) {
    var reader = LineReader(line: line)
    guard reader.skip("{\"seq\":"), let sequence = reader.number(), reader.skip(",\"received_at\":\""),
      let moment = reader.text().flatMap(Timestamp.init(written:)), reader.skip(",\"app\":\""),
      let app = reader.text(), reader.skip(",\"kind\":\""), let kind = reader.text().flatMap(Self.kind(named:))
    else { return nil }
    var protocolName: String?
    if reader.skip(",\"protocol\":\"") {
      guard let name = reader.text() else { return nil }
      protocolName = name
    }
    dialect = DialectRegistry.dialect(recorded: protocolName)
    if reader.skip(",\"occurred_at_used\":\"") { guard reader.text() != nil else { return nil } }
    guard reader.skip(",\"event\":"), line.last == UInt8(ascii: "}"), reader.position < line.count - 1 else {
      return nil
    }
    self.sequence = sequence
    receivedAt = moment
    self.app = app
    self.kind = kind
    event = reader.position..<(line.count - 1)
  }
}

extension JournalRecord {
  private static func kind(named name: String) -> EventKind? {
    switch name {
    case "event": .event
    case "identify": .identify
    default: nil
    }
  }
}

/// Walks along a line of a known shape.
private struct LineReader {
  let line: UnsafeRawBufferPointer
  var position = 0

  mutating func skip(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard position + count <= line.count else { return false }
    for index in 0..<count where line[position + index] != text.utf8Start[index] { return false }
    position += count
    return true
  }

  mutating func number() -> UInt64? {
    let start = position
    while position < line.count, line[position] &- 0x30 < 10 { position += 1 }
    return UInt64(String(decoding: line[start..<position], as: UTF8.self))
  }

  /// What comes before the next quote, which is skipped too.
  mutating func text() -> String? {
    guard let end = line[position...].firstIndex(of: UInt8(ascii: "\"")) else { return nil }
    defer { position = end + 1 }
    return String(decoding: line[position..<end], as: UTF8.self)
  }
}

extension Timestamp {
  /// Reads what `write` writes.
  fileprivate init?(written text: String) {
    let bytes = Array(text.utf8)
    guard bytes.count == 24 else { return nil }
    func digits(_ range: Range<Int>) -> Int? {
      // (A sign would pass for a digit.)
      let text = bytes[range]
      return text.allSatisfy { (0x30...0x39).contains($0) } ? Int(String(decoding: text, as: UTF8.self)) : nil
    }
    guard let year = digits(0..<4), let month = digits(5..<7), let day = digits(8..<10), let hour = digits(11..<13),
      let minute = digits(14..<16), let second = digits(17..<19), let millisecond = digits(20..<23),
      (1...12).contains(month), (1...31).contains(day)
    else { return nil }
    let ofDay = Int64(hour * 3_600_000 + minute * 60_000 + second * 1000 + millisecond)
    self.init(milliseconds: Timestamp.days(year: year, month: month, day: day) * 86_400_000 + ofDay)
  }
}
