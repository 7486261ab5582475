import Clocks
import Dialects
import EventLog
import EventsAPI
import HTTPClient

/// Events of a file on their way: those of one request.
struct OutgoingBatch: Sendable {
  struct Event: Sendable {
    /// Its place in the file, from 0.
    var place: Int
    var bytes: [UInt8]
    /// What its protocol's rules found; nothing but its length where nobody asked them.
    var known = AcceptedEvent()
  }

  /// In the body's order. Those of a body that is sent as the file has it have no bytes.
  var events: [Event] = []
  /// What came around the events in the file's own body, and is needed to make it again.
  var envelope: [UInt8] = []
  /// The file's own body.
  var whole: [UInt8]?

  /// The first so many events, and the rest.
  func split(_ count: Int) -> (OutgoingBatch, OutgoingBatch) {
    var (first, rest) = (self, self)
    first.events = Array(events[..<count])
    rest.events = Array(events[count...])
    return (first, rest)
  }

  /// The batch in two; nil for a single event and for a body as the file has it.
  var halves: (OutgoingBatch, OutgoingBatch)? {
    whole == nil && events.count > 1 ? split(events.count / 2) : nil
  }

  /// Those whose events are to arrive in their order.
  var persons: Set<UInt64> { Set(events.map(\.known.installHash)) }

  /// What is sent.
  struct Request {
    var path: String
    var headers: [String]
    var body: RequestBody
    /// Events that went in; the others want another one.
    var count: Int
  }

  /// The request, in a protocol's form.
  ///
  /// - Parameter key: empty: none.
  func request(_ dialect: any Dialect, key: String, now: Timestamp) -> Request {
    let outgoing = dialect.outgoing
    let batch = eventBatch(dialect, now)
    let target = outgoing.target(of: batch, key: key)
    // (A header for a key that there isn't is left away.)
    let headers = target.headers.filter { !$0.hasSuffix(": ") }
    if let whole {
      return Request(path: target.path, headers: headers, body: RequestBody(whole), count: events.count)
    }
    let body = RequestBody()
    let count = outgoing.fill(
      body, from: batch, key: key, now: now, bytesMax: outgoing.defaults.maxBatchBytes)
    return Request(path: target.path, headers: headers, body: body, count: count)
  }

  private func eventBatch(_ dialect: any Dialect, _ now: Timestamp) -> EventBatch {
    let batch = EventBatch()
    for (at, event) in events.enumerated() {
      var index = EventIndex(event.known, judgesTime: true)
      index.flags.remove(.clamped)
      index.length = event.bytes.count
      let stored = StoredEvent(
        sequence: UInt64(at) + 1, index: index, kind: .event, dialect: dialect.number, receivedAt: now, appIndex: 0,
        offset: 0)
      event.bytes.withUnsafeBytes { bytes in
        envelope.withUnsafeBytes { batch.append(stored, app: "", bytes: bytes, envelope: $0) }
      }
    }
    return batch
  }
}
