import Apps
import Clocks
import EventsAPI
import HTTPServer
import Ingest
import JSON
import Observability
import Synchronization
import Testing

/// Counts as a test says.
private final class FakeLedger: SuppressionLedger {
  struct Entry: Equatable, Sendable {
    var events: Int
    var app: String
  }

  private struct Waiting {
    var completion: @Sendable (Bool) -> Void
  }

  private let added = Mutex<[Entry]>([])
  private let waiting = Mutex<[Waiting]>([])

  func add(_ events: Int, app: String, completion: @escaping @Sendable (Bool) -> Void) {
    added.withLock { $0.append(Entry(events: events, app: app)) }
    waiting.withLock { $0.append(Waiting(completion: completion)) }
  }

  var entries: [Entry] { added.withLock { $0 } }

  func finish(_ isCounted: Bool) {
    let all = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for one in all { one.completion(isCounted) }
  }
}

@Suite("A deny list at the door")
struct DenyListIngestTests {
  private let log = FakeLog()
  private let ledger = FakeLedger()
  private let metrics = MetricsRegistry()
  private let apps: AppRegistry
  private let handler: IngestHandler

  private static func rules(_ denied: [String]) -> AppRules {
    AppRules(denied: DenyList(denied) { PersonHash.of($0) })
  }

  private static func definition(_ denied: [String]?) -> AppDefinition {
    AppDefinition(
      name: "ios", writeKey: "aso_wk_ios",
      rules: denied.map(rules))
  }

  init() throws {
    apps = try AppRegistry(
      apps: [
        Self.definition(["anon-1", "user-ü", "ev\"il"]), AppDefinition(name: "web", writeKey: "aso_wk_web"),
        AppDefinition(
          name: "site", writeKey: "dk_site", acceptKeys: ["ws_1"], dialect: 1, rules: Self.rules(["anon_1", "user-1"])),
        AppDefinition(name: "game", writeKey: "vh_pk_1", dialect: 2, rules: Self.rules(["vh:anon:1", "player-1"])),
      ],
      mode: .listed, storage: nil, logger: .silent)
    let now = Timestamp(milliseconds: 1_792_757_071_512)  // 2026-10-23T12:04:31.512Z
    handler = IngestHandler(
      log: log, apps: apps, clock: WallClock { now }, clockTrust: ClockTrust(newestRecord: nil), suppression: ledger,
      metrics: metrics)
  }

  private func event(_ number: Int, _ person: String, at: String = "2026-10-23T12:04:00Z") -> String {
    #"{"event_id":"0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d1\#(number)","name":"a","occurred_at":"\#(at)",\#(person)}"#
  }

  private func post(_ events: [String], key: String = "aso_wk_ios") -> FakeExchange {
    let exchange = FakeExchange(
      headers: ["X-Write-Key": key], body: #"{"events":[\#(events.joined(separator: ","))]}"#)
    handler.handle(exchange)
    return exchange
  }

  private func count(_ outcome: String) -> String? {
    let name = #"event_relay_ingest_events_total{app="ios",outcome="\#(outcome)"} "#
    return metrics.renderPrometheus().split(separator: "\n").first { $0.hasPrefix(name) }.map {
      String($0.dropFirst(name.count))
    }
  }

  @Test(
    "keeps out whose anonymous_id or user_id stands on it, however that is spelled",
    arguments: [
      #""anonymous_id":"anon-1""#, #""anonymous_id":"anon\u002d1","user_id":null"#,
      #""anonymous_id":"other","user_id":"user-ü""#, #""user_id":"user-\u00fc","anonymous_id":"other""#,
      #""anonymous_id":"ev\"il""#, #""anonymous_id":"other","user_id":"anon-1""#,
    ])
  func listed(_ person: String) throws {
    let exchange = post([event(0, person)])
    // Only when it is counted for good.
    #expect(exchange.response == nil && ledger.entries == [.init(events: 1, app: "ios")])
    ledger.finish(true)
    #expect(exchange.response?.status == 200)
    #expect(exchange.responseText == #"{"accepted":1,"rejected":[],"clamped":[]}"#)
    #expect(log.frames.isEmpty)
    #expect(count("suppressed") == "1" && count("accepted") == "0")
  }

  @Test(
    "lets everybody else in",
    arguments: [
      #""anonymous_id":"anon-2""#, #""anonymous_id":"ANON-1""#, #""anonymous_id":"anon-1 ""#,
      #""anonymous_id":"a","user_id":"user-u""#, #""anonymous_id":"a","x":"anon-1""#,
    ])
  func others(_ person: String) {
    let exchange = post([event(0, person)])
    #expect(log.frames.first?.events.count == 1 && ledger.entries.isEmpty)
    log.finish(.stored(first: 1))
    #expect(exchange.response?.status == 200 && count("suppressed") == "0" && count("accepted") == "1")
  }

  @Test(
    "keeps a part of a batch out: the rest is stored first, then that is counted, then the sender is answered as if nothing were"
  )
  func part() throws {
    let listed = #""anonymous_id":"anon-1""#
    let other = #""anonymous_id":"b""#
    let events = [
      event(0, listed), event(1, other), event(2, listed, at: "2020-01-01T00:00:00Z"), "3",
      event(4, other, at: "2020-01-01T00:00:00Z"),
    ]
    let exchange = post(events)
    #expect(log.frames.first?.events == [events[1], events[4]] && ledger.entries.isEmpty)
    log.finish(.stored(first: 1))
    #expect(exchange.response == nil && ledger.entries == [.init(events: 2, app: "ios")])
    ledger.finish(true)
    let answer = try JSONValue(parsing: try #require(exchange.response).body)
    #expect(answer["accepted"]?.integer() == 4 && answer["clamped"]?.array?.count == 2)
    #expect(answer["rejected"]?.array?.count == 1)
    #expect(count("suppressed") == "2" && count("accepted") == "2" && count("rejected") == "1")
    #expect(metrics.renderPrometheus().contains(#"event_relay_ingest_clamped_events_total{app="ios"} 1"#))
  }

  @Test("keeps a whole batch out, and identify calls")
  func whole() {
    let batch = post([event(0, #""anonymous_id":"anon-1""#), event(1, #""anonymous_id":"x","user_id":"user-ü""#)])
    ledger.finish(true)
    #expect(batch.response?.status == 200)
    for body in [#"{"anonymous_id":"anon-1","user_id":"u"}"#, #"{"user_id":"user-ü","anonymous_id":"a"}"#] {
      let call = FakeExchange("POST", "/v1/identify", headers: ["X-Write-Key": "aso_wk_ios"], body: body)
      handler.handle(call)
      ledger.finish(true)
      #expect(call.response?.status == 204)
    }
    #expect(log.frames.isEmpty && ledger.entries.map(\.events) == [2, 1, 1])
    #expect(count("suppressed") == "4" && count("accepted") == "0")
  }

  @Test(
    "keeps out whose anonymousId or userId stands on it, of Datalyr's single events",
    arguments: [
      (#""anonymousId":"anon_1""#, true), (#""anonymousId":"anon_2","userId":"user-1""#, true),
      (#""anonymousId":"anon\u005f1","userId":null"#, true), (#""anonymousId":"anon_2","userId":"user-2""#, false),
    ])
  func datalyr(_ person: String, isListed: Bool) {
    let exchange = FakeExchange(
      "POST", "/track", headers: ["X-API-Key": "dk_site"],
      body:
        #"{"event":"n","eventId":"e","properties":{},"context":{},"timestamp":"2026-10-23T12:04:00Z",\#(person)}"#)
    handler.handle(exchange)
    #expect(log.frames.isEmpty == isListed && ledger.entries == (isListed ? [.init(events: 1, app: "site")] : []))
    log.finish(.stored(first: 1))
    ledger.finish(true)
    #expect(exchange.response?.status == 200 && exchange.responseText == #"{"success":true}"#)
  }

  @Test("keeps listed persons out of a batch of Datalyr's web SDK, and stores the others' events")
  func datalyrWeb() {
    func event(_ id: String, _ person: String) -> String {
      #"{"workspace_id":"ws_1","event_name":"n","event_id":"\#(id)","event_data":{},"timestamp":"2026-10-23T12:04:00Z",\#(person)}"#
    }
    let other = event("2", #""anonymous_id":"anon_2""#)
    let events = [
      event("1", #""anonymous_id":"anon_1""#), other, event("3", #""anonymous_id":"anon_2","user_id":"user-1""#),
    ]
    let exchange = FakeExchange(
      "POST", "/",
      body: #"{"events":[\#(events.joined(separator: ","))],"batchId":"b","timestamp":"2026-10-23T12:04:00Z"}"#)
    handler.handle(exchange)
    #expect(log.frames.map(\.events) == [[other]])
    log.finish(.stored(first: 1))
    ledger.finish(true)
    #expect(ledger.entries == [.init(events: 2, app: "site")] && exchange.response?.status == 200)
  }

  @Test("keeps out whose distinct_id stands on it, of Voidhash's batches and captures")
  func voidhash() {
    func members(_ person: String) -> String {
      #""uuid":"u","event":"e","properties":{},"context":{},"timestamp":"2026-10-23T12:04:00Z","distinct_id":"\#(person)""#
    }
    let other = "{\(members("vh:anon:2"))}"
    let events = ["{\(members("vh:anon:1"))}", other, "{\(members("player-1"))}"]
    let batch = FakeExchange(
      "POST", "/i/v1/batch", body: #"{"events":[\#(events.joined(separator: ","))],"token":"vh_pk_1"}"#)
    handler.handle(batch)
    #expect(log.frames.map(\.events) == [[other]])
    log.finish(.stored(first: 1))
    ledger.finish(true)
    #expect(batch.response?.status == 202 && batch.responseText == #"{"accepted":3,"rejected":0}"#)
    let capture = FakeExchange("POST", "/i/v1/capture", body: "{\(members("player-1")),\"token\":\"vh_pk_1\"}")
    handler.handle(capture)
    ledger.finish(true)
    #expect(capture.responseText == #"{"accepted":1,"rejected":0}"# && log.frames.count == 1)
    #expect(ledger.entries == [.init(events: 2, app: "game"), .init(events: 1, app: "game")])
  }

  @Test("that can't be counted has the request refused, and nothing is counted")
  func uncounted() throws {
    let exchange = post([event(0, #""anonymous_id":"anon-1""#)])
    ledger.finish(false)
    let response = try #require(exchange.response)
    #expect(response.status == 503 && response.headers.contains { $0.name == "Retry-After" })
    #expect(count("suppressed") == "0")
  }

  @Test("is each app's own, and another one counts from the next request on")
  func replaced() throws {
    _ = post([event(0, #""anonymous_id":"anon-1""#)], key: "aso_wk_web")
    #expect(log.frames.map(\.app) == ["web"])
    try apps.replace(apps: [Self.definition(["anon-2"])], mode: .listed)
    _ = post([event(1, #""anonymous_id":"anon-1""#), event(2, #""anonymous_id":"anon-2""#)])
    #expect(log.frames.last?.app == "ios" && log.frames.last?.events == [event(1, #""anonymous_id":"anon-1""#)])
    try apps.replace(apps: [Self.definition(nil)], mode: .listed)
    _ = post([event(2, #""anonymous_id":"anon-2""#)])
    #expect(log.frames.last?.events == [event(2, #""anonymous_id":"anon-2""#)])
  }
}
