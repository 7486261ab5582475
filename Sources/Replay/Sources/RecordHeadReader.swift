import Clocks
import Dialects
import EventLog
import EventsAPI
import JSON

/// What stands before the event in a record's line.
struct RecordHead {
  var receivedAt: Timestamp
  var relay: String?
  var app: String
  var kind: EventKind
  /// What protocol the event came by, as it is called; a line of an older program doesn't say so.
  var protocolName: String?
  var sequence: UInt64
  /// The line says which time was used in place of the event's own.
  var isClamped: Bool

  /// Nil for a protocol that this program doesn't know.
  var dialect: (any Dialect)? { DialectRegistry.dialect(recorded: protocolName) }
}

/// Reads the heads of records: by their fixed order, which costs a tenth of parsing them; what stands otherwise is parsed.
///
/// Not thread-safe; remembers the last names, since neighbours mostly have the same.
final class RecordHeadReader {
  private static let opening = Array(#"{"received_at":""#.utf8)
  private static let relay = Array(#"","relay":""#.utf8)
  private static let app = Array(#"","app":""#.utf8)
  private static let kind = Array(#"","kind":""#.utf8)
  private static let protocolName = Array(#"","protocol":""#.utf8)
  private static let sequence = Array(#"","seq":"#.utf8)
  private static let clamped = Array(#","occurred_at_used":"#.utf8)

  private var relays = LastName()
  private var apps = LastName()
  private var protocols = LastName()

  private struct LastName {
    private var bytes: [UInt8] = []
    private var text = ""

    mutating func text(of name: Slice<UnsafeRawBufferPointer>) -> String {
      if !name.elementsEqual(bytes) {
        bytes = Array(name)
        text = String(decoding: bytes, as: UTF8.self)
      }
      return text
    }
  }

  /// - Parameter head: the line's bytes up to the comma before the event.
  func read(_ head: UnsafeRawBufferPointer) -> RecordHead? {
    let found = inOrder(head) ?? parsed(head)
    guard let found, !found.app.isEmpty, found.app.utf8.count <= 64 else { return nil }
    return found
  }

  /// Nil when something stands otherwise, or a name has escapes.
  private func inOrder(_ head: UnsafeRawBufferPointer) -> RecordHead? {
    var rest = head[...]
    func take(_ literal: [UInt8]) -> Bool {
      guard rest.starts(with: literal) else { return false }
      rest = rest.dropFirst(literal.count)
      return true
    }
    func takeText() -> Slice<UnsafeRawBufferPointer>? {
      let text = rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
      rest = rest.dropFirst(text.count)
      return rest.first == UInt8(ascii: "\"") ? text : nil
    }
    guard take(Self.opening), let time = takeText(),
      let receivedAt = OccurredAt.parse(UnsafeRawBufferPointer(rebasing: time)), take(Self.relay),
      let relay = takeText(), take(Self.app), let app = takeText(), take(Self.kind), let kind = takeText(),
      let kind = EventKind(name: String(decoding: kind, as: UTF8.self))
    else { return nil }
    let protocolName = take(Self.protocolName) ? takeText().map { protocols.text(of: $0) } : nil
    guard take(Self.sequence) else { return nil }
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    rest = rest.dropFirst(digits.count)
    guard let sequence = UInt64(String(decoding: digits, as: UTF8.self)) else { return nil }
    return RecordHead(
      receivedAt: receivedAt, relay: relays.text(of: relay), app: apps.text(of: app), kind: kind,
      protocolName: protocolName, sequence: sequence, isClamped: rest.starts(with: Self.clamped))
  }

  private func parsed(_ head: UnsafeRawBufferPointer) -> RecordHead? {
    guard let json = try? JSONValue(parsing: Array(head) + [UInt8(ascii: "}")]),
      let sequence = json["seq"]?.integer(as: UInt64.self), let app = json["app"]?.string,
      let receivedAt = json["received_at"]?.string.flatMap({ text in
        Array(text.utf8).withUnsafeBytes { OccurredAt.parse($0) }
      }), let kind = json["kind"]?.string.flatMap(EventKind.init(name:))
    else { return nil }
    return RecordHead(
      receivedAt: receivedAt, relay: json["relay"]?.string, app: app, kind: kind,
      protocolName: json["protocol"]?.string,
      sequence: sequence, isClamped: json["occurred_at_used"] != nil)
  }
}

extension EventKind {
  init?(name: String) {
    switch name {
    case "event": self = .event
    case "identify": self = .identify
    default: return nil
    }
  }
}
