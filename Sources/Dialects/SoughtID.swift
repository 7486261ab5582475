import CSimdjson
import EventsAPI
import JSON

/// The id of an event that somebody looks for, whatever protocol the event came by.
public struct SoughtID: Sendable {
  /// Characters of an id at most.
  public static let charactersMax = 256
  /// For messages.
  public static let rule =
    "an event's id has 1 to \(charactersMax) characters; a UUID may be written in any case, another exactly as it was sent"

  /// A UUID in small letters, another id as it was asked for.
  public let text: String
  /// What the log's index has of it.
  public let high, low: UInt64
  private let isUUID: Bool
  private let bytes: [UInt8]

  /// Nil for a text that no event has as its id.
  public init?(_ text: String) {
    guard (1...Self.charactersMax).contains(text.unicodeScalars.count) else { return nil }
    let uuid = EventIDText.numbers(text)
    isUUID = uuid != nil
    self.text = isUUID ? text.lowercased() : text
    (high, low) = uuid ?? EventIDText.numbers(ofAny: text)
    bytes = Array(self.text.utf8)
  }

  /// Whether an id, as it was sent, is the one.
  public func isID(_ other: String) -> Bool {
    // (Not `==`, to which two ways of writing é are one.)
    isUUID ? EventIDText.numbers(other).map { $0 == (high, low) } ?? false : bytes.elementsEqual(other.utf8)
  }

  /// Whether the event with these bytes has the id; its numbers alone don't tell, since hashes may collide.
  ///
  /// - Parameter dialect: the number of the protocol that it came by.
  public func isID(ofEvent event: UnsafeRawBufferPointer, dialect: UInt8) -> Bool {
    DialectRegistry.dialect(dialect)?.eventID(of: event).map(isID) ?? false
  }

  // MARK: In lines

  private static let names = DialectRegistry.all.flatMap(\.incoming.idNames).map { Array("\"\($0)\"".utf8) }
  /// How an escaped letter of a name begins.
  private static let escape = Array(#"\u00"#.utf8)

  /// Whether an event in some JSON may have the id, told without parsing: fast, and not sure, since another object inside may
  /// have a member of the name, and escapes hide what they stand for. When it says no, there is none.
  public func occurs(in line: UnsafeRawBufferPointer) -> Bool {
    guard let base = line.baseAddress else { return false }
    for name in Self.names where occurs(as: name, in: line, base) { return true }
    return json_find(base, line.count, Self.escape, Self.escape.count) != nil
  }

  private func occurs(as name: [UInt8], in line: UnsafeRawBufferPointer, _ base: UnsafeRawPointer) -> Bool {
    var at = 0
    while let found = json_find(base + at, line.count - at, name, name.count) {
      at = found - base + name.count
      var value = at
      while value < line.count, Self.isBetween(line[value]) { value += 1 }
      guard value < line.count, line[value] == UInt8(ascii: "\"") else { continue }
      if mayBe(UnsafeRawBufferPointer(rebasing: line[(value + 1)...])) { return true }
    }
    return false
  }

  private static func isBetween(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ":") || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n")
      || byte == UInt8(ascii: "\r")
  }

  /// Whether a string's content that begins here may be the id.
  private func mayBe(_ text: UnsafeRawBufferPointer) -> Bool {
    for at in 0..<text.count {
      switch text[at] {
      case UInt8(ascii: "\\"): return true
      case UInt8(ascii: "\""): return at == bytes.count
      case let byte:
        guard at < bytes.count, bytes[at] == (isUUID ? Self.small(byte) : byte) else {
          return hasEscape(text, from: at)
        }
      }
    }
    return false
  }

  /// What doesn't look like the id may be it all the same when escapes stand in it.
  private func hasEscape(_ text: UnsafeRawBufferPointer, from start: Int) -> Bool {
    for at in start..<min(text.count, start + 12 * Self.charactersMax) {
      if text[at] == UInt8(ascii: "\"") { return false }
      if text[at] == UInt8(ascii: "\\") { return true }
    }
    return false
  }

  private static func small(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}

extension Dialect {
  /// An event's id, as it was sent; nil when it has none.
  public func eventID(of event: UnsafeRawBufferPointer) -> String? {
    (try? JSONValue(parsing: event)).flatMap { eventID(of: $0) }
  }

  public func eventID(of event: JSONValue) -> String? {
    for name in incoming.idNames { if let id = event[name]?.string { return id } }
    return nil
  }
}
