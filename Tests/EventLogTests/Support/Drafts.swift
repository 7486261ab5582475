import Clocks
import Dispatch
import Glibc
import Synchronization

@testable import EventLog

/// Makes and appends frames of small events whose bytes tell which they are.
enum Drafts {
  static func index(_ length: Int, serial: Int) -> EventIndex {
    EventIndex(
      idHigh: UInt64(serial), idLow: ~UInt64(serial), installHash: UInt64(serial % 7), userHash: 0, length: length,
      nameOffset: 1, occurredAtOffset: 2, occurredAt: Timestamp(milliseconds: Int64(serial) * 1000), flags: .hasUser)
  }

  /// The bytes of an event with a serial number, about `size` of them.
  static func event(_ serial: Int, size: Int = 40) -> [UInt8] {
    let head = Array("{\"event\":\(serial),\"pad\":\"".utf8)
    let pad = [UInt8](repeating: UInt8(ascii: "a") + UInt8(serial % 26), count: max(0, size - 2 - head.count))
    return head + pad + [UInt8(ascii: "\""), UInt8(ascii: "}")]
  }

  /// Calls `body` with a draft of events with these serial numbers.
  static func with(
    app: String = "ios", kind: EventKind = .event, at time: Int64 = 1_800_000_000_000, serials: Range<Int>,
    size: Int = 40, envelope: [UInt8] = [], _ body: (borrowing FrameDraft) -> Void
  ) {
    // As in a request: events among other bytes.
    var bytes = Array("{\"events\":[ ".utf8)
    var events: [DraftEvent] = []
    for serial in serials {
      let event = event(serial, size: size)
      events.append(DraftEvent(index: index(event.count, serial: serial), offset: bytes.count))
      bytes += event + Array(" , ".utf8)
    }
    bytes.withUnsafeBytes { bytes in
      events.withUnsafeBufferPointer { events in
        envelope.withUnsafeBytes { envelope in
          body(
            FrameDraft(
              app: app, kind: kind, receivedAt: Timestamp(milliseconds: time), body: bytes, events: events,
              envelope: envelope))
        }
      }
    }
  }
}

/// Takes the outcome of one append.
final class OutcomeBox: Sendable {
  private let box = Mutex<[AppendOutcome]>([])
  func set(_ outcome: AppendOutcome) { box.withLock { $0.append(outcome) } }
  var all: [AppendOutcome] { box.withLock { $0 } }
  /// Nil when there was none yet; more than one is a fault that `all` shows.
  var outcome: AppendOutcome? { box.withLock { $0.first } }
}

extension FileLog {
  /// Appends, and returns what became of it: synced here in a log without threads, else by its writer.
  @discardableResult
  func put(
    app: String = "ios", kind: EventKind = .event, at time: Int64 = 1_800_000_000_000, _ serials: Range<Int>,
    size: Int = 40
  ) -> AppendOutcome? {
    let box = OutcomeBox()
    let isSettled = DispatchSemaphore(value: 0)
    Drafts.with(app: app, kind: kind, at: time, serials: serials, size: size) { draft in
      append(draft) {
        box.set($0)
        isSettled.signal()
      }
    }
    if tuning.isInline { syncInline() } else { isSettled.wait() }
    return box.outcome
  }

  func stage(
    app: String = "ios", kind: EventKind = .event, at time: Int64 = 1_800_000_000_000, _ serials: Range<Int>,
    size: Int = 40
  ) -> OutcomeBox {
    let box = OutcomeBox()
    Drafts.with(app: app, kind: kind, at: time, serials: serials, size: size) { draft in
      append(draft) { box.set($0) }
    }
    return box
  }
}

extension Subscription {
  /// Reads all there is of a lane, checking that the bytes are those of the events' serial numbers.
  func readAll(_ lane: Lane, events: Int = 1000, bytes: Int = 1 << 20) throws -> [StoredEvent] {
    let batch = EventBatch(capacity: 4096)
    var out: [StoredEvent] = []
    while try read(lane, limit: ReadLimit(events: events, bytes: bytes), into: batch) {
      for event in batch.events where !isIntact(event, batch) { throw LogError("event \(event.sequence) isn't itself") }
      out += batch.events
    }
    return out
  }

  func isIntact(_ event: StoredEvent, _ batch: EventBatch) -> Bool {
    let expected = Drafts.event(Int(event.index.idHigh), size: event.index.length)
    let bytes = batch.bytes(of: event)
    return expected.count == bytes.count && memcmp(expected, bytes.baseAddress!, bytes.count) == 0
      && event.index == Drafts.index(event.index.length, serial: Int(event.index.idHigh))
  }
}
