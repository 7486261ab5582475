import Apps
import Clocks
import EventLog
import HTTPServer
import JSON
import Observability
import Testing

@testable import Ingest

@Suite("Voidhash's routes")
struct VoidhashIngestTests {
  private let log = FakeLog()
  private let metrics = MetricsRegistry()

  private static let apps = [
    AppDefinition(name: "ios", writeKey: "aso_wk_ios"),
    AppDefinition(
      name: "voice", writeKey: "vh_pk_1", acceptKeys: ["vh_sk_1"], dialect: 2,
      rules: AppRules(origins: ["https://shop.example"])),
  ]

  private func handler(_ apps: [AppDefinition] = apps, mode: KeyMode = .any) throws -> IngestHandler {
    let registry = try AppRegistry(apps: apps, mode: mode, storage: nil, logger: .silent)
    let now = Timestamp(milliseconds: 1_792_757_071_512)
    return IngestHandler(
      log: log, apps: registry, clock: WallClock { now }, clockTrust: ClockTrust(newestRecord: nil), metrics: metrics)
  }

  private static let members =
    #""uuid":"u","event":"e","distinct_id":"vh:anon:1","properties":{},"context":{},"timestamp":"2026-11-30T06:17:17Z""#

  private func batch(_ count: Int = 1, token: String? = "vh_pk_1") -> String {
    let events = Array(repeating: "{\(Self.members)}", count: count).joined(separator: ",")
    return #"{"events":[\#(events)]\#(token.map { #","token":"\#($0)""# } ?? "")}"#
  }

  /// Posts a body, and has it stored when it is taken.
  private func post(
    _ body: String, path: String = "/i/v1/batch", headers: [String: String] = [:], _ handler: IngestHandler
  ) -> FakeExchange {
    let exchange = FakeExchange("POST", path, headers: headers, body: body)
    guard case .answer(let response) = handler.head(of: exchange) else {
      handler.handle(exchange)
      log.finish(.stored(first: 1))
      return exchange
    }
    exchange.respond(response)
    return exchange
  }

  /// What a refusal says, once it has the protocol's form.
  private func refusal(_ exchange: FakeExchange) throws -> (status: Int, code: String, error: String) {
    let response = try #require(exchange.response)
    let body = try JSONValue(parsing: response.body)
    #expect(body.members?.map(\.key) == ["_tag", "error", "code"])
    #expect(log.frames.isEmpty)
    return (response.status, body["code"]?.string ?? "", body["error"]?.string ?? "")
  }

  @Test("answer 202 with the counts once the events are stored, whichever place the key is in")
  func taken() throws {
    let handler = try handler()
    let exchanges = [
      post(batch(2), handler),
      post(batch(2, token: nil), headers: ["X-Publishable-Key": "vh_pk_1"], handler),
      post(batch(2, token: nil), headers: ["X-Secret-Key": "vh_sk_1"], handler),
      post(batch(2), headers: ["x-secret-key": "unknown"], handler),
    ]
    for exchange in exchanges {
      #expect(exchange.response?.status == 202)
      #expect(exchange.responseText == #"{"accepted":2,"rejected":0}"#)
    }
    let event = "{\(Self.members)}"
    #expect(log.frames.map(\.events) == Array(repeating: [event, event], count: 4))
    #expect(log.frames.allSatisfy { $0.app == "voice" && $0.flags == [[], []] })
  }

  @Test("keep no key of a capture")
  func capture() throws {
    let exchange = post(
      #"{"sent_at":"2026-11-30T06:17:17Z",\#(Self.members),"token":"vh_pk_1"}"#, path: "/i/v1/capture", try handler())
    #expect(exchange.response?.status == 202)
    #expect(exchange.responseText == #"{"accepted":1,"rejected":0}"#)
    #expect(log.frames.map(\.events) == [["{\(Self.members)}"]])
  }

  @Test("store nothing without consent, count that, and still want a key and sound events")
  func consent() throws {
    let handler = try handler()
    let denied = ["X-Analytics-Consent": "denied"]
    let exchange = post(batch(2), headers: denied, handler)
    #expect(exchange.response?.status == 202)
    #expect(exchange.responseText == #"{"accepted":0,"rejected":2}"#)
    #expect(log.frames.isEmpty)
    let page = metrics.renderPrometheus()
    #expect(page.contains(#"event_relay_ingest_events_total{app="voice",outcome="rejected"} 2"#))
    #expect(page.contains(#"event_relay_ingest_rejected_events_total{code="consent_denied"} 2"#))
    #expect(try refusal(post(batch(token: "unknown"), headers: denied, handler)).status == 401)
    #expect(try refusal(post(batch(101), headers: denied, handler)).status == 400)
  }

  @Test(
    "refuse a wrong key, none, a secret one in the body and one of another protocol's app",
    arguments: [
      ("unknown", "a key that is not known here"), ("vh_sk_1", "the x-secret-key header only"),
      ("aso_wk_ios", "an app that speaks app-store-operator"), (nil, "is missing; send the app's key"),
    ] as [(String?, String)])
  func keys(token: String?, says: String) throws {
    // With a fault in the body besides: who may not send isn't told of it.
    for body in [batch(token: token), batch(101, token: token)] {
      let refusal = try refusal(post(body, handler()))
      #expect((refusal.status, refusal.code) == (401, "unauthorized"))
      #expect(refusal.error.contains(says))
    }
  }

  @Test("refuse the secret key in the body though the head has a good one")
  func secret() throws {
    let exchange = post(batch(token: "vh_sk_1"), headers: ["x-publishable-key": "vh_pk_1"], try handler())
    #expect(try refusal(exchange).status == 401)
  }

  @Test("take a request without a key for the protocol's default app")
  func defaultApp() throws {
    let apps = [AppDefinition(name: "voice", writeKey: "vh_pk_1", isDefault: true, dialect: 2)]
    let handler = try handler(apps)
    #expect(post(batch(token: nil), handler).response?.status == 202)
    #expect(log.frames.map(\.app) == ["voice"])
  }

  @Test("refuse too many events, none, a bad one and another protocol's body with 400")
  func bad() throws {
    let handler = try handler()
    let other = #"{"event":"pageview","eventId":"1","properties":{},"context":{}}"#
    for (body, says) in [
      (batch(101), "1 to 100 events, and holds 101"), (batch(0), "1 to 100 events, and holds 0"),
      (#"{"events":[{\#(Self.members)},{}],"token":"vh_pk_1"}"#, "events[1].uuid must be a string"),
      (other, #"no "events""#), ("", "empty"), ("[1]", "not a JSON object"),
    ] {
      let refusal = try refusal(post(body, handler))
      #expect((refusal.status, refusal.code) == (400, "invalid_request"))
      #expect(refusal.error.contains(says))
    }
    // And this protocol's body at another's route gets that one's form.
    let exchange = post(batch(1), path: "/v1/events", headers: ["X-Write-Key": "aso_wk_ios"], handler)
    log.finish(.stored(first: 1))
    #expect(exchange.response?.status == 200)
    #expect(exchange.responseText?.contains(#""accepted":0"#) == true)
    #expect(exchange.responseText?.contains("invalid_name") == true)
  }

  @Test(
    "aren't there when no app speaks the protocol, and the answer says how one would",
    arguments: [KeyMode.any, .listed])
  func unspoken(mode: KeyMode) throws {
    for path in ["/i/v1/batch", "/i/v1/capture"] {
      let refusal = try refusal(post(batch(), path: path, handler([Self.apps[0]], mode: mode)))
      #expect((refusal.status, refusal.code) == (404, "not_found"))
      #expect(refusal.error.contains(#""protocol: voidhash""#))
    }
  }

  @Test("answer other faults in the protocol's form: method, type, length, a slow body, a full log, draining")
  func others() throws {
    let handler = try handler()
    func head(_ exchange: FakeExchange) throws -> (status: Int, code: String, error: String) {
      guard case .answer(let response) = handler.head(of: exchange) else { throw Unanswered() }
      exchange.respond(response)
      return try refusal(exchange)
    }
    struct Unanswered: Error {}
    #expect(try head(FakeExchange("GET", "/i/v1/batch")).code == "method_not_allowed")
    #expect(
      try head(FakeExchange("POST", "/i/v1/batch", headers: ["Content-Type": "text/plain"])).code
        == "unsupported_media_type")
    guard case .readBody(let limit) = handler.head(of: FakeExchange("POST", "/i/v1/capture")) else {
      throw Unanswered()
    }
    #expect(limit == 1_048_576)
    let faults: [(HTTPFault, Int, String)] = [
      (.bodyTooLarge(limit: 1_048_576), 413, "payload_too_large"), (.bodyTimeout, 408, "request_timeout"),
      (.overloaded, 503, "service_unavailable"), (.unsupportedEncoding, 415, "unsupported_media_type"),
    ]
    for (fault, status, code) in faults {
      let exchange = FakeExchange("POST", "/i/v1/batch")
      exchange.respond(handler.fault(fault, of: exchange))
      let refusal = try refusal(exchange)
      #expect((refusal.status, refusal.code) == (status, code))
    }
    let full = FakeExchange("POST", "/i/v1/batch", body: batch())
    handler.handle(full)
    log.finish(.refused(.logFull))
    #expect(full.response?.status == 503)
    #expect(full.response?.headers.contains { $0.name == "Retry-After" } == true)
    #expect(full.responseText?.hasPrefix(#"{"_tag":"ServiceUnavailableError","error":""#) == true)
  }

  @Test("can be posted to by pages of the origins that an app lists")
  func browsers() throws {
    let handler = try handler()
    let headers = ["Origin": "https://shop.example"]
    let preflight = FakeExchange("OPTIONS", "/i/v1/batch", headers: headers)
    guard case .answer(let answer) = handler.head(of: preflight) else {
      Issue.record("a preflight's body is asked for")
      return
    }
    #expect(answer.status == 204)
    let allowed = answer.headers.first { $0.name == "Access-Control-Allow-Headers" }?.value ?? ""
    for name in ["Content-Type", "X-Publishable-Key", "X-Analytics-Consent"] { #expect(allowed.contains(name)) }
    #expect(!allowed.contains("X-Secret-Key"), "a page has no secrets")
    let taken = post(batch(), headers: headers, handler)
    #expect(taken.response?.status == 202)
    #expect(
      taken.response?.headers.contains {
        $0.name == "Access-Control-Allow-Origin" && $0.value == "https://shop.example"
      }
        == true)
    let foreign = post(batch(), headers: ["Origin": "https://other.example"], handler)
    #expect(foreign.response?.status == 403)
    #expect(foreign.responseText?.contains(#""code":"forbidden""#) == true)
  }
}
