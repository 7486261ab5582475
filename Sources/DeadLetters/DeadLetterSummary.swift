import Dialects
import JSON
import Records

/// What stands around a dead letter's event, and where.
public struct DeadLetterSummary: Sendable, Equatable {
  /// The file's name in its directory, and the line in it, from 1.
  public var file: String
  public var line: Int
  public var sequence: UInt64
  /// When it was given up, as written: ISO 8601 in UTC.
  public var at: String
  public var destination, app, reason: String
  public var status: Int?
  public var code, message: String?
  public var attempts: Int
  public var receivedAt: String
  /// `event` or `identify`.
  public var kind: String
  /// What protocol the event came by, as configurations call it.
  public var protocolName: String
  /// The event's own id, as sent; nil when it has none.
  public var eventID: String?
  /// It was put back to its destination.
  public var isReplayed = false

  /// Bytes of `,"event":`, which stands before the event.
  private static let eventMemberBytes = 9

  /// Nil when the line is no dead letter.
  ///
  /// - Parameter readsEvent: whether the event is parsed for its id.
  init?(_ lineBytes: UnsafeRawBufferPointer, file: String, line: Int, readsEvent: Bool) {
    guard let event = RecordLines.eventRange(in: lineBytes) else { return nil }
    let head = Array(lineBytes[..<(event.lowerBound - Self.eventMemberBytes)]) + [UInt8(ascii: "}")]
    guard let json = try? JSONValue(parsing: head), let sequence = json["seq"]?.integer(as: UInt64.self),
      let at = json["at"]?.string, let destination = json["destination"]?.string, let app = json["app"]?.string,
      let reason = json["reason"]?.string
    else { return nil }
    self.file = file
    self.line = line
    self.sequence = sequence
    self.at = at
    self.destination = destination
    self.app = app
    self.reason = reason
    status = json["status"]?.integer()
    code = json["code"]?.string
    message = json["message"]?.string
    attempts = json["attempts"]?.integer() ?? 0
    receivedAt = json["received_at"]?.string ?? ""
    kind = json["kind"]?.string ?? "event"
    let named = json["protocol"]?.string
    protocolName = named ?? DialectRegistry.usual.name
    if readsEvent {
      eventID = DialectRegistry.dialect(recorded: named)?.eventID(
        of: UnsafeRawBufferPointer(rebasing: lineBytes[event]))
    }
  }

  /// The summary as one JSON object.
  public var json: JSONValue {
    .object([
      .init("file", .string(file)), .init("line", JSONValue(line)), .init("seq", JSONValue(sequence)),
      .init("at", .string(at)), .init("received_at", .string(receivedAt)),
      .init("destination", .string(destination)), .init("app", .string(app)), .init("kind", .string(kind)),
      .init("protocol", .string(protocolName)),
      .init("reason", .string(reason)), .init("status", status.map { JSONValue($0) } ?? .null),
      .init("code", JSONValue(code)), .init("message", JSONValue(message)), .init("attempts", JSONValue(attempts)),
      .init("event_id", JSONValue(eventID)), .init("replayed", .bool(isReplayed)),
    ])
  }
}
