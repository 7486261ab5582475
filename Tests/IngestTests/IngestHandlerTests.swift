import Apps
import Clocks
import EventLog
import HTTPServer
import Ingest
import JSON
import Observability
import Testing

@Suite("Ingest")
struct IngestHandlerTests {
  private let log = FakeLog()
  private let metrics = MetricsRegistry()
  private let now = Timestamp(milliseconds: 1_792_757_071_512)  // 2026-10-23T12:04:31.512Z

  private func handler(newestRecord: Timestamp? = nil) throws -> IngestHandler {
    let apps = try AppRegistry(
      apps: [
        AppDefinition(name: "ios", writeKey: "aso_wk_ios", acceptKeys: ["local"], isDefault: false)
      ], mode: .listed, storage: nil, logger: .silent)
    let now = self.now
    return IngestHandler(
      log: log, apps: apps, clock: WallClock { now }, clockTrust: ClockTrust(newestRecord: newestRecord),
      metrics: metrics)
  }

  private func event(
    _ id: String = "0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10", name: String = "app_opened",
    at: String = "2026-10-23T12:04:00Z"
  ) -> String {
    #"{"event_id":"\#(id)","name":"\#(name)","anonymous_id":"a","occurred_at":"\#(at)","x":39.990}"#
  }

  private func post(_ body: String, path: String = "/v1/events", key: String? = "local") -> FakeExchange {
    FakeExchange("POST", path, headers: key.map { ["X-Write-Key": $0] } ?? [:], body: body)
  }

  @Test("answers only after the events are stored, and stores each event's bytes as they came")
  func storesThenAnswers() throws {
    let exchange = post(#"{"events":[ \#(event()) ]}"#)
    try handler().handle(exchange)
    #expect(exchange.response == nil)
    #expect(
      log.frames == [FakeLog.Frame(app: "ios", kind: .event, receivedAt: now, events: [event()], flags: [[]])])
    log.finish(.stored(first: 1))
    #expect(exchange.response?.status == 200)
    #expect(exchange.responseText == #"{"accepted":1,"rejected":[],"clamped":[]}"#)
  }

  @Test("stores what is right of a mixed batch and says what became of the rest")
  func mixed() throws {
    let exchange = post(
      #"{"events":[3,\#(event()),\#(event(name: "no good")),\#(event(at: "2020-01-01T00:00:00Z"))]}"#)
    try handler().handle(exchange)
    #expect(log.frames.first?.events.count == 2)
    #expect(log.frames.first?.flags == [[], .clamped])
    log.finish(.stored(first: 1))
    let answer = try JSONValue(parsing: try #require(exchange.response).body)
    #expect(answer["accepted"]?.integer() == 2)
    #expect(answer["rejected"]?.array?.map { $0["code"]?.string } == ["invalid_event", "invalid_name"])
    #expect(answer["rejected"]?.array?.map { $0["index"]?.integer() } == [0, 2])
    #expect(answer["clamped"]?.array?.map { $0["index"]?.integer() } == [3])
    let page = metrics.renderPrometheus()
    #expect(page.contains(#"event_relay_ingest_events_total{app="ios",outcome="accepted"} 2"#))
    #expect(page.contains(#"event_relay_ingest_events_total{app="ios",outcome="rejected"} 2"#))
    #expect(page.contains(#"event_relay_ingest_clamped_events_total{app="ios"} 1"#))
    #expect(page.contains(#"event_relay_ingest_rejected_events_total{code="invalid_name"} 1"#))
  }

  @Test("answers a batch of nothing but rejected events at once, with nothing stored")
  func allRejected() throws {
    let exchange = post(#"{"events":[1,2]}"#)
    try handler().handle(exchange)
    #expect(exchange.response?.status == 200)
    #expect(log.frames.isEmpty)
  }

  @Test(
    "tells a sender to come back when the log takes nothing, and counts no event",
    arguments: [AppendRefusal.logFull, .diskFull, .failed, .closed])
  func refused(refusal: AppendRefusal) throws {
    let exchange = post(#"{"events":[\#(event()),7]}"#)
    try handler().handle(exchange)
    log.finish(.refused(refusal))
    let response = try #require(exchange.response)
    #expect(response.status == 503)
    #expect(response.headers.contains { $0.name == "Retry-After" && Int($0.value) ?? 0 > 0 })
    #expect(try JSONValue(parsing: response.body)["code"]?.string == "server_error")
    #expect(metrics.renderPrometheus().contains(#"outcome="rejected"} 0"#))
  }

  @Test("answers an identify call with 204 once it is stored")
  func identify() throws {
    let body = #"{"anonymous_id":"a","user_id":"u"}"#
    let exchange = post(body, path: "/v1/identify")
    try handler().handle(exchange)
    #expect(log.frames.first?.kind == .identify)
    #expect(log.frames.first?.events == [body])
    #expect(exchange.response == nil)
    log.finish(.stored(first: 1))
    #expect(exchange.response?.status == 204)
    #expect(exchange.response?.body.isEmpty == true)
  }

  @Test(
    "refuses a body that is no batch, with 400", arguments: ["", "{", "[]", "{}", #"{"events":[]}"#, #"{"events":3}"#])
  func badBodies(body: String) throws {
    let exchange = post(body)
    try handler().handle(exchange)
    #expect(exchange.response?.status == 400)
    #expect(exchange.responseText?.contains("invalid_body") == true)
    #expect(log.frames.isEmpty)
  }

  @Test(
    "lets a head pass only with a known key", arguments: [(nil, 401), ("other", 401), ("local", 0), ("aso_wk_ios", 0)])
  func keys(key: String?, status: Int) throws {
    switch try handler().head(of: post("", key: key)) {
    case .readBody(let limit):
      #expect(status == 0)
      #expect(limit == 1_048_576)
    case .answer(let response): #expect(response.status == status)
    }
  }

  @Test("names the one method that is served")
  func allow() throws {
    guard case .answer(let response) = try handler().head(of: FakeExchange("GET")) else {
      Issue.record("a GET passed")
      return
    }
    #expect(response.status == 405)
    #expect(response.headers.contains { $0.name == "Allow" && $0.value == "POST" })
  }

  @Test("clamps nothing while the clock is plainly wrong")
  func wrongClock() throws {
    let later = Timestamp(milliseconds: now.milliseconds + 1)
    try handler(newestRecord: later).handle(post(#"{"events":[\#(event(at: "2020-01-01T00:00:00Z"))]}"#))
    #expect(log.frames.first?.flags == [.unjudged])
  }
}
