import Clocks
import EventLog
import HTTPServer
import Synchronization

/// A request without a socket. Unchecked because its buffer is written once, before anybody reads it.
final class FakeExchange: HTTPExchange, @unchecked Sendable {
  let method: String
  let path: String
  let query: String? = nil
  let clientAuthorities: [UInt8]? = nil
  private let headers: [String: String]
  private let storage: UnsafeMutableRawBufferPointer
  private let count: Int
  private let answer = Mutex<HTTPResponse?>(nil)

  init(_ method: String = "POST", _ path: String = "/v1/events", headers: [String: String] = [:], body: String = "") {
    self.method = method
    self.path = path
    self.headers = Dictionary(uniqueKeysWithValues: headers.map { ($0.key.lowercased(), $0.value) })
    let bytes = Array(body.utf8)
    storage = .allocate(byteCount: bytes.count + 64, alignment: 16)
    storage.initializeMemory(as: UInt8.self, repeating: 0)
    storage.copyBytes(from: bytes)
    count = bytes.count
  }

  deinit { storage.deallocate() }

  func header(_ name: StaticString) -> String? { headers["\(name)".lowercased()] }
  var body: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }
  func respond(_ response: HTTPResponse) { answer.withLock { $0 = $0 ?? response } }

  var response: HTTPResponse? { answer.withLock { $0 } }
  var responseText: String? { response.map { String(decoding: $0.body, as: UTF8.self) } }
}

/// A log that keeps what it is given, and answers when the test says so.
final class FakeLog: DurableLog, Sendable {
  struct Frame: Sendable, Equatable {
    var app: String
    var kind: EventKind
    var receivedAt: Timestamp
    var events: [String]
    var flags: [EventIndex.Flags]
  }

  private struct State {
    var frames: [Frame] = []
    var waiting: [@Sendable (AppendOutcome) -> Void] = []
  }

  private let state = Mutex(State())

  func append(_ draft: borrowing FrameDraft, completion: @escaping @Sendable (AppendOutcome) -> Void) {
    let body = draft.body
    let frame = Frame(
      app: draft.app, kind: draft.kind, receivedAt: draft.receivedAt,
      events: draft.events.map { event in
        String(decoding: body[event.offset..<event.offset + event.index.length], as: UTF8.self)
      }, flags: draft.events.map(\.index.flags))
    state.withLock {
      $0.frames.append(frame)
      $0.waiting.append(completion)
    }
  }

  var frames: [Frame] { state.withLock { $0.frames } }

  func finish(_ outcome: AppendOutcome) {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for completion in waiting { completion(outcome) }
  }

  func subscribe(_ destination: String, origin: SubscriptionOrigin) throws(LogError) -> any Subscription {
    throw LogError("the fake log has no subscriptions")
  }

  var knownDestinations: [String] { [] }
  var health: LogHealth { .ok }
  var statistics: LogStatistics {
    LogStatistics(
      sizeBytes: 0, maxSizeBytes: 0, segments: 0, spareSegments: 0, oldestSequence: 1, nextSequence: 1,
      oldestReceivedAt: nil, acceptedEvents: 0, droppedEvents: 0, corruptRecords: 0, appendWaitingSince: nil)
  }
  var newestRecordAtStart: Timestamp? { nil }
  func close() {}
}
