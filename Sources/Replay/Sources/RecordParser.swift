import Clocks
import EventLog
import Dialects
import Records

/// Makes of a record's line the event that it was made of, with all that the log knows of an event.
///
/// The event's bytes are the line's; what is known of them is found by the reader that requests go through. Not thread-safe.
final class RecordParser {
  struct Record {
    var event: StoredEvent
    var app: String
    var relay: String?
    /// Good until the next line is read.
    var bytes: UnsafeRawBufferPointer
  }

  /// Readable bytes that the reader wants behind an event.
  private static let padding = 64
  /// Bytes of `,"event":`, which stands before the event.
  private static let memberBytes = 9

  /// By protocol.
  private var readers: [UInt8: any IncomingReader] = [:]
  private let heads = RecordHeadReader()
  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

  deinit { buffer.deallocate() }

  /// Nil when the line is no record, or its event keeps the rules no longer.
  func parse(_ line: UnsafeRawBufferPointer) -> Record? {
    guard let range = RecordLines.eventRange(in: line) else { return nil }
    guard let head = heads.read(UnsafeRawBufferPointer(rebasing: line[..<(range.lowerBound - Self.memberBytes)])) else {
      return nil
    }
    let bytes = copy(UnsafeRawBufferPointer(rebasing: line[range]))
    guard let dialect = head.dialect, var index = index(dialect, head.kind, bytes, head.receivedAt) else { return nil }
    if head.isClamped { index.flags.insert(.clamped) }
    return Record(
      event: StoredEvent(
        sequence: head.sequence, index: index, kind: head.kind, dialect: dialect.number, receivedAt: head.receivedAt,
        appIndex: 0,
        offset: 0),
      app: head.app, relay: head.relay, bytes: bytes)
  }

  private func copy(_ event: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    if buffer.count < event.count + Self.padding {
      buffer.deallocate()
      buffer = .allocate(byteCount: (event.count + Self.padding) * 2, alignment: 16)
    }
    buffer.copyMemory(from: event)
    return UnsafeRawBufferPointer(rebasing: buffer[..<event.count])
  }

  /// The time isn't judged again: the line says what it was then.
  private func index(
    _ dialect: any Dialect, _ kind: EventKind, _ bytes: UnsafeRawBufferPointer, _ receivedAt: Timestamp
  ) -> EventIndex? {
    let reader = readers[dialect.number] ?? dialect.incoming.makeReader()
    readers[dialect.number] = reader
    guard let event = reader.readRecord(bytes, kind: kind, receivedAt: receivedAt), event.offset == 0,
      event.length == bytes.count
    else { return nil }
    return EventIndex(event, judgesTime: true)
  }
}
