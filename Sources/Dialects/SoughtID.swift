import CSimdjson
import EventsAPI
import Glibc
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

  /// The names of ids, with their quotes.
  private static let names = DialectRegistry.all.flatMap(quotedNames)
  private static let namesByProtocol = DialectRegistry.all.map { (Array($0.name.utf8), quotedNames($0)) }
  private static let usualNames = quotedNames(DialectRegistry.usual)
  private static let kind = Array(#"","kind":""#.utf8)
  private static let protocolName = Array(#"","protocol":""#.utf8)
  /// How an escaped letter of a name begins.
  private static let escape = Array(#"\u00"#.utf8)
  /// A record says its kind within so many bytes.
  private static let headBytes = 1024

  private static func quotedNames(_ dialect: any Dialect) -> [[UInt8]] {
    dialect.incoming.idNames.map { Array("\"\($0)\"".utf8) }
  }

  /// Whether the event in a record's line may have the id, told without parsing: fast, and not sure, since another object
  /// inside may have a member of the name, and escapes hide what they stand for. When it says no, it hasn't.
  public func occurs(in line: UnsafeRawBufferPointer) -> Bool {
    guard let base = line.baseAddress else { return false }
    for name in Self.names(in: line, base) where occurs(as: name, in: line, base) { return true }
    guard memchr(base, Int32(UInt8(ascii: "\\")), line.count) != nil else { return false }
    return json_find(base, line.count, Self.escape, Self.escape.count) != nil
  }

  /// What the record's protocol calls its events' ids; all names where the line doesn't begin as records do.
  private static func names(in line: UnsafeRawBufferPointer, _ base: UnsafeRawPointer) -> [[UInt8]] {
    // (In front of it only names can stand, in which every quote is escaped.)
    guard let found = json_find(base, min(line.count, headBytes), kind, kind.count) else { return names }
    var rest = line[(found - base + kind.count)...]
    rest = rest.drop { $0 != UInt8(ascii: "\"") }
    guard rest.starts(with: protocolName) else { return usualNames }
    let name = rest.dropFirst(protocolName.count).prefix { $0 != UInt8(ascii: "\"") }
    return namesByProtocol.first { name.elementsEqual($0.0) }?.1 ?? []
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
    guard let json = try? JSONValue(parsing: event) else { return eventIDByName(event) }
    return eventID(of: json)
  }

  /// The same for an event that is no small document: one that is nested deeper than those may be, say. Whatever a protocol's
  /// reader takes is read by this.
  private func eventIDByName(_ event: UnsafeRawBufferPointer) -> String? {
    let padded = Array(event) + [UInt8](repeating: 0, count: 64)
    return padded.withUnsafeBytes { padded in
      let body = UnsafeRawBufferPointer(rebasing: padded[..<event.count])
      func text(_ name: String) -> String? {
        let reader = FieldReader(bodyBytesMax: event.count, elementsMax: 1, body: "", element: name)
        guard case .success(let fields) = reader.readOne(body) else { return nil }
        return fields[0][0].text
      }
      return incoming.idName { text($0) != nil }.flatMap(text)
    }
  }

  public func eventID(of event: JSONValue) -> String? {
    incoming.idName { event[$0]?.string != nil }.flatMap { event[$0]?.string }
  }
}
