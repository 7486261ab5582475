import Apps
import Clocks
import EventLog
import HTTPServer
import JSON
import Observability
import Testing

@testable import Ingest

@Suite("Datalyr at the door")
struct DatalyrIngestTests {
  private let log = FakeLog()
  private let metrics = MetricsRegistry()
  private let page = "https://shop.example"

  private func handler(speaksDatalyr: Bool = true) throws -> IngestHandler {
    let site = AppDefinition(
      name: "site", writeKey: "dk_site", acceptKeys: ["ws_1"], dialect: 1, rules: AppRules(origins: [page]))
    let other = AppDefinition(name: "other", writeKey: "dk_other", acceptKeys: ["ws_2"], dialect: 1)
    let ios = AppDefinition(name: "ios", writeKey: "aso_wk_ios", isDefault: true)
    let apps = try AppRegistry(
      apps: speaksDatalyr ? [ios, site, other] : [ios], mode: .listed, storage: nil, logger: .silent)
    let now = Timestamp(milliseconds: 1_796_018_401_000)  // 2026-11-30T06:00:01Z
    return IngestHandler(
      log: log, apps: apps, clock: WallClock { now }, clockTrust: ClockTrust(newestRecord: nil), metrics: metrics)
  }

  private let event =
    #"{"event":"n","eventId":"e 1","anonymousId":"a","properties":{},"context":{},"timestamp":"2026-11-30T06:00:00+0000"}"#

  private func webEvent(_ workspace: String = "ws_1") -> String {
    #"{"workspace_id":"\#(workspace)","event_name":"n","event_id":"w-1","anonymous_id":"a","event_data":{},"timestamp":"2026-11-30T06:00:00Z"}"#
  }

  private func batch(_ events: String...) -> String {
    #"{"events":[\#(events.joined(separator: ","))],"batchId":"b","timestamp":"2026-11-30T06:00:00Z"}"#
  }

  private func track(_ body: String, headers: [String: String] = ["X-API-Key": "dk_site"]) -> FakeExchange {
    FakeExchange("POST", "/track", headers: headers, body: body)
  }

  private func web(_ body: String, origin: String? = nil) -> FakeExchange {
    var headers = ["X-Batch-Size": "99", "Content-Type": "application/json"]
    if let origin { headers["Origin"] = origin }
    return FakeExchange("POST", "/", headers: headers, body: body)
  }

  /// What comes of a request: by its head if that decides, else of its body, once what it brings is stored.
  private func answer(_ exchange: FakeExchange, _ handler: IngestHandler) throws -> HTTPResponse {
    if case .answer(let response) = handler.head(of: exchange) { return response }
    handler.handle(exchange)
    log.finish(.stored(first: 1))
    return try #require(exchange.response)
  }

  private func header(_ name: String, of response: HTTPResponse) -> String? {
    response.headers.first { $0.name == name }?.value
  }

  /// Checks that an answer has the protocol's own error form.
  private func expectError(
    _ response: HTTPResponse, _ status: Int, _ code: String, saying text: String,
    at place: SourceLocation = #_sourceLocation
  ) throws {
    #expect(response.status == status, sourceLocation: place)
    let body = try JSONValue(parsing: response.body)
    #expect(body.members?.map(\.key) == ["success", "error", "code"], sourceLocation: place)
    #expect(body["success"]?.bool == false, sourceLocation: place)
    #expect(body["code"]?.string == code, sourceLocation: place)
    #expect(body["error"]?.string?.contains(text) == true, sourceLocation: place)
    #expect(log.frames.isEmpty, sourceLocation: place)
  }

  @Test("an event is stored as it came, and answered with 200 and an object once it is")
  func stored() throws {
    let exchange = track(event)
    try handler().handle(exchange)
    #expect(exchange.response == nil)
    #expect(log.frames.map(\.app) == ["site"])
    #expect(log.frames.map(\.events) == [[event]])
    #expect(log.frames.map(\.flags) == [[[]]])
    log.finish(.stored(first: 1))
    #expect(exchange.response?.status == 200)
    #expect(exchange.responseText == #"{"success":true}"#)
    #expect(
      metrics.renderPrometheus().contains(#"event_relay_ingest_events_total{app="site",outcome="accepted"} 1"#))
  }

  @Test("the key's header may have any case", arguments: ["X-API-Key", "X-Api-Key", "x-api-key", "X-API-KEY"])
  func headerCase(name: String) throws {
    #expect(try answer(track(event, headers: [name: "dk_site"]), handler()).status == 200)
  }

  @Test("a web batch is its workspace's app's, whatever X-Batch-Size says")
  func webBatch() throws {
    let response = try answer(web(batch(webEvent(), webEvent())), handler())
    #expect(response.status == 200)
    #expect(log.frames.map(\.app) == ["site"])
    #expect(log.frames.map(\.events) == [[webEvent(), webEvent()]])
    #expect(log.frames.map(\.flags) == [[.otherForm, .otherForm]])
  }

  @Test("a key that is missing, unknown or of another protocol's app is refused with 401")
  func keys() throws {
    let handler = try handler()
    let code = "invalid_api_key"
    try expectError(answer(track(event, headers: [:]), handler), 401, code, saying: "The X-API-Key header is missing")
    try expectError(
      answer(track(event, headers: ["X-API-Key": "dk_x"]), handler), 401, code, saying: "a key that is not known here")
    try expectError(
      answer(track(event, headers: ["X-API-Key": "aso_wk_ios"]), handler), 401, code,
      saying: "an app that speaks app-store-operator, and this is a route of datalyr")
    try expectError(
      answer(web(batch(webEvent("ws_9"))), handler), 401, code, saying: "The events' workspace_id holds a key")
    try expectError(
      answer(web(batch(webEvent("aso_wk_ios"))), handler), 401, code, saying: "speaks app-store-operator")
    try expectError(
      answer(web(batch(webEvent(""))), handler), 401, code, saying: "The events' workspace_id is missing")
    // (Who may not send isn't told what is wrong with what it sends.)
    try expectError(answer(web(batch(#"{"workspace_id":"ws_9"}"#)), handler), 401, code, saying: "not known")
  }

  @Test("a Datalyr key at another protocol's route is refused there, in that one's form")
  func keyElsewhere() throws {
    let exchange = FakeExchange("POST", "/v1/events", headers: ["X-Write-Key": "dk_site"], body: #"{"events":[]}"#)
    let response = try answer(exchange, handler())
    #expect(response.status == 401)
    #expect(try JSONValue(parsing: response.body)["code"]?.string == "invalid_write_key")
    #expect(try JSONValue(parsing: response.body)["message"]?.string?.contains("speaks datalyr") == true)
  }

  @Test("a batch of two workspaces is refused as a whole, though both are known")
  func twoWorkspaces() throws {
    try expectError(
      answer(web(batch(webEvent("ws_1"), webEvent("ws_2"))), handler()), 400, "invalid_event",
      saying: #""events[1].workspace_id" must be the same"#)
  }

  @Test("what breaks a rule, or is another protocol's body, is refused with 400")
  func badBodies() throws {
    let handler = try handler()
    try expectError(answer(track("{"), handler), 400, "invalid_body", saying: "at byte")
    try expectError(
      answer(track(#"{"event":7}"#), handler), 400, "invalid_event", saying: #""event" must be a string"#)
    let operatorBatch =
      #"{"events":[{"event_id":"e","name":"n","anonymous_id":"a","occurred_at":"2026-11-30T06:00:00Z"}]}"#
    try expectError(answer(track(operatorBatch), handler), 400, "invalid_body", saying: "POST /")
    try expectError(
      answer(web(operatorBatch), handler), 401, "invalid_api_key", saying: "The events' workspace_id is missing")
    try expectError(answer(web(event), handler), 400, "invalid_body", saying: "POST /track")
    let many = batch(Array(repeating: webEvent(), count: 101).joined(separator: ","))
    try expectError(answer(web(many), handler), 400, "invalid_body", saying: "1 to 100 events, it holds 101")
    try expectError(answer(web(batch()), handler), 400, "invalid_body", saying: "it holds 0")
  }

  @Test("what the server itself finds wrong is said in the protocol's form")
  func serverFaults() throws {
    let handler = try handler()
    func fault(_ fault: HTTPFault, _ path: String) -> HTTPResponse {
      handler.fault(fault, of: FakeExchange("POST", path))
    }
    try expectError(fault(.bodyTooLarge(limit: 65_536), "/track"), 413, "payload_too_large", saying: "over 65536 bytes")
    try expectError(fault(.bodyTooLarge(limit: 1_048_576), "/"), 413, "payload_too_large", saying: "over 1048576 bytes")
    try expectError(fault(.unsupportedEncoding, "/"), 415, "unsupported_media_type", saying: "Content-Encoding")
    try expectError(fault(.bodyTimeout, "/track"), 408, "request_timeout", saying: "in time")
    try expectError(fault(.overloaded, "/track"), 503, "server_error", saying: "try again")
  }

  @Test("a body is read as far as its route's limit")
  func limits() throws {
    for (exchange, bytes) in [(track(event), 65_536), (web(batch(webEvent())), 1_048_576)] {
      guard case .readBody(let limit) = try handler().head(of: exchange) else {
        Issue.record("the head is refused")
        return
      }
      #expect(limit == bytes)
    }
  }

  @Test("other methods and types are refused")
  func heads() throws {
    let handler = try handler()
    let get = try answer(FakeExchange("GET", "/track"), handler)
    try expectError(get, 405, "method_not_allowed", saying: "Only POST is served at /track")
    #expect(header("Allow", of: get) == "POST")
    let getWeb = try answer(FakeExchange("GET", "/"), handler)
    try expectError(getWeb, 405, "method_not_allowed", saying: "Only POST is served at /.")
    #expect(header("Allow", of: getWeb) == "OPTIONS, POST")
    let text = FakeExchange("POST", "/", headers: ["Content-Type": "text/plain"])
    try expectError(answer(text, handler), 415, "unsupported_media_type", saying: "application/json")
  }

  @Test("without an app that speaks it the routes are unknown, with a hint", arguments: ["/track", "/"])
  func nobodySpeaks(path: String) throws {
    try expectError(
      answer(FakeExchange("POST", path, body: event), handler(speaksDatalyr: false)), 404, "not_found",
      saying: #"give an app "protocol: datalyr""#)
  }

  @Test("a browser's preflight is answered for pages that an app lists, and for no others")
  func preflight() throws {
    let handler = try handler()
    func preflight(_ path: String, _ origin: String?) throws -> HTTPResponse {
      try answer(FakeExchange("OPTIONS", path, headers: origin.map { ["Origin": $0] } ?? [:]), handler)
    }
    let response = try preflight("/", page)
    #expect(response.status == 204)
    #expect(header("Access-Control-Allow-Origin", of: response) == page)
    #expect(header("Access-Control-Allow-Methods", of: response) == "POST")
    #expect(header("Access-Control-Allow-Headers", of: response)?.contains("X-Batch-Size") == true)
    for origin in ["https://evil.example", "http://shop.example", nil] {
      try expectError(preflight("/", origin), 403, "origin_not_allowed", saying: "origins")
    }
    #expect(try preflight("/track", page).status == 405)
  }

  @Test("a page may post, and read the answer, when the batch's own app lists it")
  func origins() throws {
    let handler = try handler()
    try expectError(
      answer(web(batch(webEvent()), origin: "https://evil.example"), handler), 403, "origin_not_allowed",
      saying: "origins")
    try expectError(
      answer(web(batch(webEvent("ws_2")), origin: page), handler), 403, "origin_not_allowed", saying: "origins")
    let response = try answer(web(batch(webEvent()), origin: page), handler)
    #expect(response.status == 200)
    #expect(header("Access-Control-Allow-Origin", of: response) == page)
  }

  @Test("a full log is told in the protocol's form, with the time to come back")
  func refused() throws {
    let exchange = track(event)
    try handler().handle(exchange)
    log.finish(.refused(.logFull))
    let response = try #require(exchange.response)
    #expect(response.status == 503)
    #expect(try JSONValue(parsing: response.body)["success"]?.bool == false)
    #expect(header("Retry-After", of: response) != nil)
  }
}
