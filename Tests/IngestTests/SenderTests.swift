import Apps
import Clocks
import Dedupe
import EventLog
import HTTPServer
import JSON
import Observability
import Testing

@testable import Ingest

@Suite("What senders repeat, and how much they send")
struct SenderTests {
  private let log = FakeLog()
  private let metrics = MetricsRegistry()
  private let gate = IngestGate()

  private func handler(perMinute: Int = 0, deduplicates: Bool = true) throws -> IngestHandler {
    let apps = try AppRegistry(
      apps: [AppDefinition(name: "ios", writeKey: "aso_wk_ios", acceptKeys: [], isDefault: true)], mode: .listed,
      storage: nil, logger: .silent)
    let now = Timestamp(milliseconds: 1_792_757_071_512)
    return IngestHandler(
      log: log, apps: apps, clock: WallClock { now }, clockTrust: ClockTrust(newestRecord: nil), gate: gate,
      deduplication: deduplicates ? Deduplication(window: .seconds(3600), maxIDs: 1000) : nil,
      limit: SenderLimit(perMinute: perMinute, logger: .silent, clock: { 0 }), metrics: metrics)
  }

  private func event(_ number: Int, at: String = "2026-10-23T12:04:00Z", more: String = "") -> String {
    let digits = String(number)
    let id = "0b6f6a3e-3c3e-4d8a-8f6e-" + String(repeating: "0", count: 12 - digits.count) + digits
    return #"{"event_id":"\#(id)","name":"n","anonymous_id":"a","occurred_at":"\#(at)"\#(more)}"#
  }

  private func post(_ events: [String], _ handler: IngestHandler) -> FakeExchange {
    let exchange = FakeExchange(body: #"{"events":[\#(events.joined(separator: ","))]}"#)
    handler.handle(exchange)
    return exchange
  }

  private func metric(_ text: String) -> Bool { metrics.renderPrometheus().contains(text + "\n") }

  @Test("a repeated event is accepted, counted as a duplicate alone, and stored once")
  func duplicate() throws {
    let handler = try handler()
    let first = post([event(1), event(2), event(1, more: #","x":1"#)], handler)
    log.finish(.stored(first: 1))
    #expect(first.responseText == #"{"accepted":3,"rejected":[],"clamped":[]}"#)
    let again = post([event(2), event(1)], handler)
    #expect(again.responseText == #"{"accepted":2,"rejected":[],"clamped":[]}"#)
    #expect(log.frames.map(\.events) == [[event(1), event(2)]])
    #expect(metric(#"event_relay_ingest_events_total{app="ios",outcome="accepted"} 2"#))
    #expect(metric(#"event_relay_ingest_events_total{app="ios",outcome="duplicate"} 3"#))
    #expect(metric(#"event_relay_ingest_conflicting_events_total{app="ios"} 1"#))
  }

  @Test("a clamped duplicate is named in the answer, and counted as clamped once")
  func clamped() throws {
    let handler = try handler()
    let old = event(1, at: "2020-01-01T00:00:00Z")
    _ = post([old], handler)
    log.finish(.stored(first: 1))
    let again = try #require(post([old, event(2)], handler).response == nil ? log : nil)
    again.finish(.stored(first: 2))
    #expect(metric(#"event_relay_ingest_clamped_events_total{app="ios"} 1"#))
  }

  @Test("a duplicate's sender gets its answer when the first one's does, the same")
  func waits() throws {
    let handler = try handler()
    let (first, second) = (post([event(1)], handler), post([event(1)], handler))
    #expect(first.response == nil && second.response == nil && log.frames.count == 1)
    log.finish(.refused(.logFull))
    #expect(first.response?.status == 503 && second.response?.status == 503)
    #expect(metric(#"event_relay_ingest_events_total{app="ios",outcome="duplicate"} 0"#))
    let third = post([event(1)], handler)
    #expect(third.response == nil && log.frames.count == 2)
    log.finish(.stored(first: 1))
    #expect(third.response?.status == 200)
  }

  @Test("identify calls are never duplicates")
  func identify() throws {
    let handler = try handler()
    for _ in 0..<2 {
      handler.handle(FakeExchange("POST", "/v1/identify", body: #"{"anonymous_id":"a","user_id":"u"}"#))
    }
    #expect(log.frames.count == 2)
  }

  @Test("without a window an event is stored as often as it is sent")
  func off() throws {
    let handler = try handler(deduplicates: false)
    _ = post([event(1), event(1)], handler)
    #expect(log.frames.map(\.events.count) == [2])
  }

  @Test("past the limit a request gets 429 with a Retry-After, and none of its events counts")
  func rateLimited() throws {
    let handler = try handler(perMinute: 100)
    _ = post((0..<99).map { event($0) }, handler)
    log.finish(.stored(first: 1))
    let exchange = post([event(200), event(201), "7"], handler)
    let response = try #require(exchange.response)
    #expect(response.status == 429)
    #expect(response.headers.contains { $0.name == "Retry-After" && $0.value == "61" })
    #expect(try JSONValue(parsing: response.body)["code"]?.string == "rate_limited")
    #expect(log.frames.count == 1)
    #expect(metric(#"event_relay_ingest_events_total{app="ios",outcome="rejected"} 0"#))
    #expect(metric(#"event_relay_ingest_requests_total{route="/v1/events",status="429"} 1"#))
    // One more fits still, and an identify call is one.
    handler.handle(FakeExchange("POST", "/v1/identify", body: #"{"anonymous_id":"a","user_id":"u"}"#))
    #expect(log.frames.count == 2)
    #expect(post([event(300)], handler).response?.status == 429)
  }

  @Test("what the log refused doesn't count against the limit")
  func givesBack() throws {
    let handler = try handler(perMinute: 100)
    for _ in 0..<5 {
      let exchange = post((0..<100).map { event($0) }, handler)
      log.finish(.refused(.logFull))
      #expect(exchange.response?.status == 503)
    }
  }

  @Test("a closed gate answers 503 before a body is read, and counts those that were let in until they are answered")
  func drained() throws {
    let handler = try handler()
    let open = post([event(1)], handler)
    #expect(gate.requests == 1)
    #expect(gate.close() && !gate.close())
    let late = post([event(2)], handler)
    #expect(late.response?.status == 503)
    #expect(late.response?.headers.contains { $0.name == "Retry-After" } == true)
    guard case .answer(let answer) = handler.head(of: FakeExchange()) else {
      Issue.record("a drained relay reads a body")
      return
    }
    #expect(answer.status == 503)
    #expect(gate.requests == 1 && log.frames.count == 1)
    log.finish(.stored(first: 1))
    #expect(open.response?.status == 200 && gate.requests == 0)
    #expect(gate.open() && !gate.isClosed)
    _ = post([event(3)], handler)
    #expect(log.frames.count == 2)
  }

  @Test("every request that ends in another way lets the gate know too")
  func leaves() throws {
    let handler = try handler(perMinute: 100)
    handler.handle(FakeExchange(body: "{"))
    handler.handle(FakeExchange(body: #"{"events":[1]}"#))
    handler.handle(FakeExchange("POST", "/v1/identify", body: "{}"))
    handler.handle(FakeExchange(headers: ["X-Write-Key": "unknown"], body: "{}"))
    for _ in 0..<3 { _ = post((0..<80).map { event($0) }, handler) }
    log.finish(.stored(first: 1))
    #expect(gate.requests == 0)
  }
}
