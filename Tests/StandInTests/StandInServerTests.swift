import Clocks
import HTTPServer
import JSON
import StandIn
import TestSupport
import Testing

@Suite("The stand-in upstream")
struct StandInServerTests {
  @Test("stores a batch's good events, and names the others and why")
  func mixedBatch() async throws {
    try await withUpstream { (upstream) async throws in
      let good = event(1, more: #","extra":[1,{"n":9007199254740993}],"properties":{"price":39.990}"#)
      let answer = try await upstream.send([
        good, event(2, at: "2020-01-01T00:00:00Z"), event(3, name: "$reserved"), "7", event(4, name: "not good"),
      ])
      #expect(answer.status == 200)
      let json = try JSONValue(parsing: answer.body)
      #expect(json["accepted"]?.integer() == 2)
      let rejected = json["rejected"]?.array ?? []
      #expect(rejected.map { $0["code"]?.string } == ["reserved_name", "invalid_event", "invalid_name"])
      #expect(rejected.map { $0["index"]?.integer() } == [2, 3, 4])
      #expect(rejected[1]["event_id"]?.isNull == true)
      #expect(json["clamped"]?.array?.map { $0["index"]?.integer() } == [1])
      let list = try await upstream.get("/events")
      #expect(list.text.contains("\"event\":\(good)"))
      let records = try JSONValue(parsing: list.body)["events"]?.array ?? []
      #expect(records.count == 2)
      #expect(records[1]["occurred_at_used"]?.string == "2026-10-23T12:00:00.000Z")
      #expect(records[0]["occurred_at_used"] == nil)
      #expect(records[0]["app"]?.string?.hasPrefix("key-") == true)
      #expect(!list.text.contains("aso_wk_test"))
    }
  }

  @Test("stores a repeated event once, whatever the case of its id, under each key by itself")
  func duplicates() async throws {
    try await withUpstream { (upstream) async throws in
      let twice = event(0xABC)
      let capital = twice.replacing("000000000abc", with: "000000000ABC")
      #expect(try await upstream.send([twice, capital]).text.contains("\"accepted\":2"))
      #expect(try await upstream.send([capital]).text.contains("\"accepted\":1"))
      #expect(try await upstream.send([twice], key: "other").text.contains("\"accepted\":1"))
      let stats = try await upstream.json("/stats")
      #expect(stats["events"]?["stored"]?.integer() == 2)
      #expect(stats["events"]?["duplicates"]?.integer() == 2)
      #expect(stats["events"]?["accepted"]?.integer() == 4)
      #expect(try await upstream.json("/events")["events"]?.array?.count == 2)
    }
  }

  @Test("refuses with the spec's statuses and codes")
  func refusals() async throws {
    try await withUpstream(configure: { $0.keys = ["good"] }) { (upstream) async throws in
      func code(_ answer: RawClient.Response) -> String {
        "\(answer.status) \((try? JSONValue(parsing: answer.body))?["code"]?.string ?? "")"
      }
      let body = #"{"events":[\#(event(1))]}"#
      #expect(code(try await upstream.post("/v1/events", body, key: nil)) == "401 invalid_write_key")
      #expect(code(try await upstream.post("/v1/events", body, key: "")) == "401 invalid_write_key")
      #expect(code(try await upstream.post("/v1/events", body, key: "bad")) == "401 invalid_write_key")
      #expect(code(try await upstream.post("/v1/identify", "{}", key: "bad")) == "401 invalid_write_key")
      for bad in ["", "nope", "[]", #"{"events":[]}"#, #"{"events":[\#(String(repeating: "1,", count: 100))1]}"#] {
        #expect(code(try await upstream.post("/v1/events", bad, key: "good")) == "400 invalid_body")
      }
      #expect(
        code(try await upstream.post("/v1/identify", #"{"anonymous_id":"a"}"#, key: "good")) == "400 invalid_body")
      let large = String(repeating: " ", count: 1_048_577)
      #expect(code(try await upstream.post("/v1/events", large, key: "good")) == "413 payload_too_large")
      let xml = "Content-Type: application/xml\r\n"
      #expect(
        code(try await upstream.post("/v1/events", body, key: "good", headers: xml)) == "415 unsupported_media_type")
      for type in ["application/json; charset=utf-8", "Application/vnd.x+JSON"] {
        let answer = try await upstream.post("/v1/events", body, key: "good", headers: "Content-Type: \(type)\r\n")
        #expect(answer.status == 200)
      }
      #expect(code(try await upstream.get("/v1/other")) == "404 not_found")
      let get = try await upstream.get("/v1/events")
      #expect(code(get) == "405 method_not_allowed" && get.headers["allow"] == "POST")
      let post = try await upstream.post("/stats", "")
      #expect(code(post) == "405 method_not_allowed" && post.headers["allow"] == "GET, HEAD")
      for query in ["limit=0", "limit=1001", "offset=-1", "x=1", "format=xml"] {
        #expect(try await upstream.get("/events?\(query)").status == 400)
      }
      let stats = try await upstream.json("/stats")
      #expect(stats["requests"]?["events"]?["401"]?.integer() == 3)
      #expect(stats["requests"]?["events"]?["400"]?.integer() == 5)
      #expect(stats["requests"]?["events"]?["413"]?.integer() == 1)
    }
  }

  @Test("links an install to a user, the first time only")
  func identify() async throws {
    try await withUpstream { (upstream) async throws in
      for user in ["one", "two"] {
        let answer = try await upstream.post("/v1/identify", #"{"anonymous_id":"a","user_id":"\#(user)"}"#)
        #expect(answer.status == 204 && answer.body.isEmpty)
      }
      #expect(try await upstream.post("/v1/identify", #"{"anonymous_id":"b","user_id":"one"}"#).status == 204)
      let records = try await upstream.json("/events")["events"]?.array ?? []
      #expect(records.map { $0["event"]?["user_id"]?.string } == ["one", "one"])
      #expect(records.map { $0["kind"]?.string } == ["identify", "identify"])
      #expect(try await upstream.json("/stats")["identify"]?["links"]?.integer() == 2)
    }
  }

  @Test("refuses a whole request over a rate limit and says truly when to come again")
  func rateLimits() async throws {
    try await withUpstream(configure: { $0.keyEventsPerMinute = 20 }) { (upstream) async throws in
      let batch = (0..<15).map { event($0, install: "i\($0)") }
      #expect(try await upstream.send(batch).status == 200)
      upstream.clock.advance(by: .seconds(10))
      let refused = try await upstream.send((15..<21).map { event($0) })
      #expect(refused.status == 429)
      #expect(refused.headers["retry-after"] == "50")
      #expect(try JSONValue(parsing: refused.body)["code"]?.string == "rate_limited")
      // Rejected events count too; another key has a limit of its own.
      #expect(try await upstream.send(["1", "2", "3", "4", "5", "6"]).status == 429)
      #expect(try await upstream.send([event(90)], key: "other").status == 200)
      upstream.clock.advance(by: .seconds(49.999))
      #expect(try await upstream.send((15..<21).map { event($0) }).headers["retry-after"] == "1")
      upstream.clock.advance(by: .milliseconds(1))
      #expect(try await upstream.send((15..<21).map { event($0) }).status == 200)
      let stats = try await upstream.json("/stats")
      #expect(stats["rate_limited"]?["key"]?.integer() == 3)
      #expect(stats["events"]?["stored"]?.integer() == 22)
    }
  }

  @Test("limits each install by itself", arguments: [LimiterKind.sliding, .fixed, .bucket])
  func installLimit(kind: LimiterKind) async throws {
    try await withUpstream(configure: { $0.limiter = kind }) { (upstream) async throws in
      for batch in 0..<3 {
        #expect(try await upstream.send((0..<100).map { event(batch * 100 + $0, install: "hot") }).status == 200)
      }
      let mixed = [event(1000, install: "cool"), event(1001, install: "hot")]
      let refused = try await upstream.send(mixed)
      #expect(refused.status == 429)
      let wait = try #require(Int(refused.headers["retry-after"] ?? ""))
      #expect(kind == .bucket ? wait == 1 : wait == 60)
      #expect(try await upstream.send([event(1002, install: "cool")]).status == 200)
      upstream.clock.advance(by: .seconds(wait))
      #expect(try await upstream.send(mixed).status == 200)
      let stats = try await upstream.json("/stats")
      #expect(stats["rate_limited"]?["install"]?.integer() == 1)
      #expect(stats["events"]?["stored"]?.integer() == 303)
    }
  }

  @Test("without a limiter limits nothing")
  func noLimiter() async throws {
    try await withUpstream(configure: {
      $0.limiter = .none
      $0.keyEventsPerMinute = 1
      $0.installEventsPerMinute = 1
    }) { (upstream) async throws in
      for batch in 0..<5 {
        #expect(try await upstream.send((0..<100).map { event(batch * 100 + $0) }).status == 200)
      }
    }
  }

  @Test("refuses what is past 110 % of the month's quota, of all keys together, until the 1st")
  func quota() async throws {
    try await withUpstream(configure: { $0.monthlyQuota = 10 }) { (upstream) async throws in
      #expect(try await upstream.send((0..<6).map { event($0) }).status == 200)
      #expect(try await upstream.send((0..<5).map { event($0) }, key: "other").status == 200)
      let refused = try await upstream.send([event(100)])
      #expect(refused.status == 403)
      #expect(try JSONValue(parsing: refused.body)["code"]?.string == "quota_exceeded")
      // What is stored already isn't new.
      #expect(try await upstream.send([event(1)]).status == 200)
      upstream.clock.advance(by: .seconds(9 * 86_400))
      #expect(try await upstream.send([event(100)]).status == 200)
      let stats = try await upstream.json("/stats")
      #expect(stats["quota"]?["month"]?.string == "2026-11")
      #expect(stats["quota"]?["used"]?.integer() == 1)
      #expect(stats["quota"]?["refused"]?.integer() == 1)
    }
  }

  @Test("takes 500 event names of a key and no more")
  func names() async throws {
    try await withUpstream { (upstream) async throws in
      for batch in 0..<5 {
        let events = (0..<100).map { event(batch * 100 + $0, name: "n\(batch * 100 + $0)", install: "i\($0)") }
        #expect(try await upstream.send(events).text.contains("\"accepted\":100"))
      }
      let answer = try await upstream.send([
        event(1000, name: "n7"), event(1001, name: "new", at: "2020-01-01T00:00:00Z"), "0", event(7, name: "newer"),
      ])
      let json = try JSONValue(parsing: answer.body)
      // The last is a repeated event.
      #expect(json["accepted"]?.integer() == 2)
      #expect(json["rejected"]?.array?.map { $0["code"]?.string } == ["too_many_event_names", "invalid_event"])
      #expect(json["rejected"]?.array?.first?["event_id"]?.string == "00000000-0000-4000-8000-0000000003e9")
      #expect(json["clamped"]?.array?.isEmpty == true)
      #expect(try await upstream.send([event(1001, name: "new")], key: "other").text.contains("\"accepted\":1"))
    }
  }

  @Test("fails as ordered, so many times, and then does its work")
  func forcedFailures() async throws {
    try await withUpstream(configure: {
      $0.failure = ForcedFailure("429:2")
      $0.retryAfter = 7
    }) { (upstream) async throws in
      #expect(try await upstream.get("/stats").status == 200)
      let first = try await upstream.send([event(1)])
      #expect(first.status == 429 && first.headers["retry-after"] == "7")
      #expect(try JSONValue(parsing: first.body)["code"]?.string == "rate_limited")
      // Even a request that would be refused.
      #expect(try await upstream.post("/v1/identify", "", key: nil).status == 429)
      #expect(try await upstream.send([event(1)]).text.contains("\"accepted\":1"))
      #expect(try await upstream.json("/stats")["forced_failures"]?.integer() == 2)
    }
    try await withUpstream(configure: { $0.failure = ForcedFailure("503") }) { (upstream) async throws in
      for _ in 0..<3 {
        let answer = try await upstream.send([event(1)])
        #expect(answer.status == 503 && answer.headers["retry-after"] == nil)
        #expect(try JSONValue(parsing: answer.body)["code"]?.string == "server_error")
      }
    }
    try await withUpstream(configure: {
      $0.failure = ForcedFailure("403:1")
      $0.retryAfter = 7
    }) { (upstream) async throws in
      #expect(try await upstream.send([event(1)]).headers["retry-after"] == nil)
    }
  }

  @Test("answers late when told to, and others meanwhile")
  func latency() async throws {
    // So long that it is only cut off, never waited for.
    try await withUpstream(configure: { $0.latency = .seconds(3600) }) { (upstream) async throws in
      let late = try RawClient(port: upstream.server.tcpPort())
      await late.send("POST /v1/events HTTP/1.1\r\nHost: h\r\nX-Write-Key: k\r\nContent-Length: 0\r\n\r\n")
      try await lookAgain { try await upstream.json("/stats")["requests"]?["events"]?["400"] == nil }
      #expect(try await upstream.get("/events").status == 200)
      await upstream.server.stop(until: .now)
      #expect(try await late.readToEnd().isEmpty)
    }
    try await withUpstream(configure: { $0.latency = .milliseconds(1) }) { (upstream) async throws in
      #expect(try await upstream.send([event(1)]).text.contains("\"accepted\":1"))
      #expect(try await upstream.post("/v1/events", "", key: nil).status == 401)
    }
  }

  @Test("lists page by page, as an object or as lines")
  func pages() async throws {
    try await withUpstream { (upstream) async throws in
      for batch in 0..<3 { _ = try await upstream.send((0..<100).map { event(batch * 100 + $0, install: "i\($0)") }) }
      var next: UInt64 = 0
      var seen: [UInt64] = []
      while next < 300 {
        let page = try await upstream.json("/events?offset=\(next)&limit=77")
        #expect(page["end"]?.integer() == 300 && page["first"]?.integer() == 0)
        seen += (page["events"]?.array ?? []).compactMap { $0["seq"]?.integer() }
        next = try #require(page["next"]?.integer())
      }
      #expect(seen == Array(0..<300))
      let lines = try await upstream.get("/events?format=ndjson&limit=3&offset=298")
      #expect(lines.headers["content-type"] == "application/x-ndjson")
      #expect(lines.text.split(separator: "\n").count == 2)
      #expect(try await upstream.json("/events?offset=300")["events"]?.array?.isEmpty == true)
    }
  }

  @Test("knows after a restart what it stored: ids, names, links and the month's count")
  func restart() async throws {
    let directory = TemporaryDirectory()
    let configure: (inout StandInConfiguration) -> Void = {
      $0.dataDirectory = directory.file("data")
      $0.monthlyQuota = 600
      $0.limiter = .none
    }
    var before: [UInt8] = []
    try await withUpstream(configure: configure) { (upstream) async throws in
      for batch in 0..<5 {
        _ = try await upstream.send((0..<100).map { event(batch * 100 + $0, name: "n\(batch * 100 + $0)") })
      }
      _ = try await upstream.post("/v1/identify", "{\"anonymous_id\":\"a\",\n\"user_id\":\"u\"}")
      before = try await upstream.get("/events?limit=1000").body
    }
    #expect(readLines(directory.file("data/events.ndjson")).count == 501)
    try await withUpstream(configure: configure) { (upstream) async throws in
      #expect(try await upstream.get("/events?limit=1000").body == before)
      let again = try await upstream.send([event(5, name: "n5"), event(900, name: "other")])
      #expect(try JSONValue(parsing: again.body)["accepted"]?.integer() == 1)
      #expect(again.text.contains("too_many_event_names"))
      _ = try await upstream.post("/v1/identify", #"{"anonymous_id":"a","user_id":"late"}"#)
      let stats = try await upstream.json("/stats")
      #expect(stats["quota"]?["used"]?.integer() == 500)
      #expect(stats["identify"]?["links"]?.integer() == 0)
      #expect(stats["kept"]?["end"]?.integer() == 501)
      #expect(stats["apps"]?.array?.first?["event_names"]?.integer() == 500)
    }
  }

  @Test("lists lines that it didn't write itself, and goes on")
  func foreignLines() async throws {
    let directory = TemporaryDirectory()
    let path = directory.write("events.ndjson", "{\"mine\":1}\n{\"seq\":7,\"half")
    try await withUpstream(configure: { $0.dataDirectory = directory.path }) { (upstream) async throws in
      #expect(try await upstream.send([event(1)]).text.contains("\"accepted\":1"))
      let list = try await upstream.json("/events")["events"]?.array ?? []
      #expect(list.count == 2 && list[0]["mine"]?.integer() == 1 && list[1]["seq"]?.integer() == 1)
    }
    #expect(readLines(path).count == 2)
  }

  @Test("says why it can't start")
  func startErrors() async throws {
    try await withUpstream { (upstream) async throws in
      var configuration = StandInConfiguration()
      configuration.listen = try #require(upstream.server.address)
      let error = #expect(throws: StandInError.self) {
        try StandInServer(configuration, logger: .silent).start()
      }
      #expect(error?.description.contains("in use") == true)
    }
  }
}
