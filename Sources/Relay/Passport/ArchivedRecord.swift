import Archive
import Dialects
import JSON
import Records

/// What stands around an event in an archive's line, and where.
struct ArchivedRecord {
  var place: ArchivePlace
  var sequence: UInt64
  var app, kind, protocolName, receivedAt: String
  var isClamped: Bool
  var eventID: String?

  /// Bytes of `,"event":`, which stands before the event.
  private static let memberBytes = 9

  /// Nil when the line is no record.
  init?(_ line: UnsafeRawBufferPointer, _ place: ArchivePlace) {
    guard let range = RecordLines.eventRange(in: line) else { return nil }
    let head = Array(line[..<(range.lowerBound - Self.memberBytes)]) + [UInt8(ascii: "}")]
    guard let json = try? JSONValue(parsing: head), let sequence = json["seq"]?.integer(as: UInt64.self),
      let app = json["app"]?.string, let receivedAt = json["received_at"]?.string
    else { return nil }
    self.place = place
    self.sequence = sequence
    self.app = app
    self.receivedAt = receivedAt
    kind = json["kind"]?.string ?? "event"
    isClamped = json["occurred_at_used"] != nil
    let named = json["protocol"]?.string
    protocolName = named ?? DialectRegistry.usual.name
    eventID = DialectRegistry.dialect(recorded: named)?.eventID(of: UnsafeRawBufferPointer(rebasing: line[range]))
  }
}
