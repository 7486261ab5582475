import Clocks
import DeadLetters
import Dispatch
import EventLog
import EventsAPI
import Dialects
import JSON
import Observability
import Records
import TestSupport

@testable import Replay

/// A data directory with a log, dead letters and a desk for replays, opened again as after a crash as often as wanted.
final class Fixture {
  static let time = Timestamp(milliseconds: 1_792_757_071_512)

  let directory = TemporaryDirectory()
  private(set) var log: FileLog
  private(set) var letters: DeadLetterStore
  private(set) var sink: any Subscription
  let types = ["upstream": "upstream", "raw": "ndjson", "audit": "archive"]
  let audited = Fact<[String]>([])
  /// The protocols that apps speak, by their names.
  let spoken = Fact<[String: UInt8]>([:])

  init() throws {
    (log, letters, sink) = try Self.open(directory)
  }

  private static func open(_ directory: TemporaryDirectory) throws -> (FileLog, DeadLetterStore, any Subscription) {
    let log = try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"), replays: directory.file("replays"),
      configuration: FileLogConfiguration(durability: .os, segmentSize: 1 << 20, minFreeDisk: 0), logger: .silent,
      metrics: MetricsRegistry())
    let letters = DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent)
    return (log, letters, try log.subscribe("raw", origin: .oldest))
  }

  /// Lets go of everything that isn't on the disk.
  func reopen() throws {
    log.close()
    (log, letters, sink) = try Self.open(directory)
  }

  var room: ReplayDesk.Room {
    let types = types
    return ReplayDesk.Room(
      log: log, deadLetters: letters, relay: "r-1", directory: directory.file("replays"), destinations: types,
      speaks: { [spoken] in spoken.value[$0] }, logger: .silent
    ) { [audited] action, actor, _ in audited.change { $0.append("\(action) by \(actor)") } }
  }

  static func text(_ number: Int, name: String = "seen") -> String {
    let digits = String(repeating: "0", count: 12 - "\(number)".count) + "\(number)"
    return #"{"event_id":"0d9f6a34-0000-4000-8000-\#(digits)","name":"\#(name)","anonymous_id":"a-\#(number % 5)","#
      + #""occurred_at":"2026-10-23T06:04:31.512Z","n":\#(number)}"#
  }

  /// Stores an event a request.
  func append(_ numbers: Range<Int>, name: String = "seen", at time: Timestamp = Fixture.time) {
    for number in numbers {
      TestRecord.withEvent(Self.text(number, name: name), at: time) { event, bytes in
        let done = DispatchSemaphore(value: 0)
        [DraftEvent(index: event.index, offset: 0)].withUnsafeBufferPointer { events in
          log.append(FrameDraft(app: "ios", kind: .event, receivedAt: time, body: bytes, events: events)) { _ in
            done.signal()
          }
        }
        done.wait()
      }
    }
  }

  /// Acknowledges all that the sink is owed of new events.
  func settle() throws {
    sink.acknowledge(.all, 1...log.statistics.nextSequence, Tally(.delivered, sink.pending(.all).events))
    try sink.commit(attachment: nil)
  }

  /// Writes dead letters of the sink, and returns the committed mark.
  func bury(_ numbers: Range<Int>, app: String = "ios", code: String = "invalid_name") throws {
    let lines = RecordLines(relay: "r-1")
    for number in numbers {
      TestRecord.withEvent(Self.text(number), at: Self.time) { event, bytes in
        var event = event
        event.original = UInt64(number)
        lines.append(
          event, app: app, bytes: bytes,
          deadLetter: DeadLetterDetails(
            destination: "raw", reason: .rejected, status: 200, code: code, message: nil, attempts: 1, at: Self.time))
      }
    }
    _ = try letters.prepare("raw")
    let mark = try letters.append("raw", lines: lines)
    try sink.commit(attachment: ["dead_letters": mark.json])
  }

  /// Writes an event of another protocol among the sink's dead letters.
  func bury(_ text: String, by name: String, app: String) throws {
    let dialect = DialectRegistry.dialect(named: name) ?? DialectRegistry.usual
    let reader = dialect.incoming.makeReader()
    let lines = RecordLines(relay: "r-1")
    let padded = Array(text.utf8) + [UInt8](repeating: 0, count: 64)
    padded.withUnsafeBytes { padded in
      let bytes = UnsafeRawBufferPointer(rebasing: padded[..<text.utf8.count])
      guard let accepted = reader.readRecord(bytes, kind: .event, receivedAt: Self.time) else {
        preconditionFailure("not an event: \(text)")
      }
      let event = StoredEvent(
        sequence: 7, index: EventIndex(accepted, judgesTime: true), kind: .event, dialect: dialect.number,
        receivedAt: Self.time, appIndex: 0, offset: 0)
      lines.append(
        event, app: app, bytes: bytes,
        deadLetter: DeadLetterDetails(
          destination: "raw", reason: .refused, status: 400, code: "bad", message: nil, attempts: 1, at: Self.time))
    }
    _ = try letters.prepare("raw")
    let mark = try letters.append("raw", lines: lines)
    try sink.commit(attachment: ["dead_letters": mark.json])
  }

  /// The numbers that the sink is sent again, in their order; they stay unacknowledged.
  func replayed() throws -> [UInt64] {
    let batch = EventBatch()
    var numbers: [UInt64] = []
    sink.rewind(.allReplayed)
    while try sink.read(.allReplayed, limit: ReadLimit(events: 100, bytes: 1 << 20), into: batch) {
      numbers += batch.events.map(\.original)
    }
    return numbers
  }

  func request(_ source: ReplayRequest.Source = .log) -> ReplayRequest {
    ReplayRequest(destination: "raw", source: source)
  }

  /// Has a replay run to its end.
  func run(_ request: ReplayRequest, _ desk: ReplayDesk? = nil, isDryRun: Bool = false) throws -> ReplayStatus {
    let desk = desk ?? ReplayDesk(room)
    let id = try desk.start(request, isDryRun: isDryRun, by: "test").id
    while try !desk.status(id).state.isOver { desk.waitForChange() }
    return try desk.status(id)
  }
}

enum TestRecord {
  /// Calls a body with an event as ingest would take it, and its bytes.
  static func withEvent(
    _ text: String, at time: Timestamp, kind: EventKind = .event, _ body: (StoredEvent, UnsafeRawBufferPointer) -> Void
  ) {
    let reader = EventsReader()
    let bytes = Array(text.utf8) + [UInt8](repeating: 0, count: 64)
    bytes.withUnsafeBytes { bytes in
      let event = UnsafeRawBufferPointer(rebasing: bytes[..<text.utf8.count])
      let accepted: AcceptedEvent
      switch kind {
      case .event:
        guard reader.readEvent(event, receivedAt: time) == nil, let found = reader.accepted.first else {
          preconditionFailure("not an event: \(text)")
        }
        accepted = found
      case .identify:
        guard case .success(let found) = reader.readIdentify(event, receivedAt: time) else {
          preconditionFailure("not an identify: \(text)")
        }
        accepted = found
      }
      body(
        StoredEvent(
          sequence: 7, index: EventIndex(accepted, judgesTime: true), kind: kind, dialect: 0, receivedAt: time,
          appIndex: 0, offset: 0), event)
    }
  }
}
