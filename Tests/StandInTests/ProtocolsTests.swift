import Dialects
import JSON
import StandIn
import TestSupport
import Testing

@Suite("The stand-in of several protocols on one port")
struct ProtocolsTests {
  private func withAll(
    clock: TestClock = TestClock(), configure: (inout StandInConfiguration) -> Void = { _ in },
    _ body: (Upstream) async throws -> Void
  ) async throws {
    try await withUpstream(
      clock: clock,
      configure: {
        $0.protocols = DialectRegistry.all
        configure(&$0)
      }, body)
  }

  private func track(_ number: Int, person: String = "anon_1", name: String = "opened") -> String {
    #"{"event":"\#(name)","eventId":"order-\#(number)","anonymousId":"\#(person)","timestamp":"2026-10-23T12:00:00+0000","#
      + #""properties":{"n":9007199254740993},"context":{}}"#
  }

  private func web(_ number: Int, workspace: String = "ws_1") -> String {
    #"{"event_id":"web-\#(number)","event_name":"purchase","anonymous_id":"anon_1","workspace_id":"\#(workspace)","#
      + #""timestamp":"2026-10-23T12:00:00.000Z","event_data":{"i":1}}"#
  }

  private func voidhash(_ number: Int) -> String {
    #"{"uuid":"u-\#(number)","event":"opened","distinct_id":"vh:anon:1","properties":{},"context":{},"#
      + #""timestamp":"2026-10-23T12:00:00.000Z"}"#
  }

  private func batch(_ events: [String], token: String? = "vh_pk_1") -> String {
    let key = token.map { #","token":"\#($0)""# } ?? ""
    return #"{"events":[\#(events.joined(separator: ","))],"sent_at":"2026-10-23T12:00:00.000Z"\#(key)}"#
  }

  private func postTrack(_ upstream: Upstream, _ body: String, key: String = "dk_1") async throws
    -> RawClient.Response
  {
    try await upstream.post("/track", body, key: nil, headers: "x-api-key: \(key)\r\n")
  }

  @Test("answers each in its own form, and lists what came with its protocol")
  func answers() async throws {
    try await withAll { (upstream) async throws in
      #expect(try await upstream.send([event(1)]).text == #"{"accepted":1,"rejected":[],"clamped":[]}"#)
      let tracked = try await postTrack(upstream, track(1))
      #expect(tracked.status == 200 && tracked.text == #"{"success":true}"#)
      let webBody = #"{"events":[\#(web(1)),\#(web(2))],"batchId":"b","timestamp":"2026-10-23T12:00:00.000Z"}"#
      #expect(try await upstream.post("/", webBody, key: nil).text == #"{"success":true}"#)
      let taken = try await upstream.post("/i/v1/batch", batch([voidhash(1), voidhash(2)]), key: nil)
      #expect(taken.status == 202 && taken.text == #"{"accepted":2,"rejected":0}"#)
      let capture = voidhash(3).dropLast() + #","sent_at":"2026-10-23T12:00:00.000Z","token":"vh_pk_1"}"#
      #expect(try await upstream.post("/i/v1/capture", String(capture), key: nil).status == 202)

      let list = try await upstream.get("/events")
      let records = try JSONValue(parsing: list.body)["events"]?.array ?? []
      #expect(
        records.map { $0["protocol"]?.string }
          == ["app-store-operator", "datalyr", "datalyr", "datalyr", "voidhash", "voidhash", "voidhash"])
      for stored in [event(1), track(1), web(1), web(2), voidhash(1), voidhash(2), voidhash(3)] {
        #expect(list.text.contains("\"event\":\(stored)}"), "byte for byte: \(stored)")
      }
      #expect(!list.text.contains("dk_1") && !list.text.contains("vh_pk_1"))
      let stats = try await upstream.json("/stats")
      #expect(stats["events"]?["stored"]?.integer() == 7)
      #expect(stats["protocols"]?["datalyr"]?["events"]?["stored"]?.integer() == 3)
      #expect(stats["protocols"]?["voidhash"]?["requests"]?["capture"]?["202"]?.integer() == 1)
      #expect(stats["requests"]?["track"]?["200"]?.integer() == 1)
      #expect(stats["apps"]?.array?.map { $0["protocol"]?.string }.last == "voidhash")
    }
  }

  @Test("stores what came before once, by id, key and protocol, after a restart too")
  func duplicates() async throws {
    let directory = TemporaryDirectory()
    for stored in [2, 0] {
      try await withAll(configure: { $0.dataDirectory = directory.file("data") }) { (upstream) async throws in
        for _ in 0..<3 {
          #expect(try await postTrack(upstream, track(1)).status == 200)
          let answer = try await upstream.post("/i/v1/batch", batch([voidhash(1), voidhash(1)]), key: nil)
          #expect(answer.text == #"{"accepted":2,"rejected":0}"#)
        }
        let stats = try await upstream.json("/stats")
        #expect(stats["events"]?["stored"]?.integer() == stored)
        #expect(stats["events"]?["duplicates"]?.integer() == 9 - stored)
      }
    }
    #expect(readLines(directory.file("data/events.ndjson")).count == 2)
    try await withAll(configure: { $0.dataDirectory = directory.file("data") }) { (upstream) async throws in
      #expect(try await postTrack(upstream, track(1), key: "dk_2").status == 200)
      #expect(try await upstream.json("/stats")["events"]?["stored"]?.integer() == 1, "another key's is another event")
    }
  }

  @Test("refuses in each one's form, and stores nothing of it")
  func refusals() async throws {
    try await withAll(configure: { $0.keys = ["dk_1", "ws_1", "vh_pk_1", "aso"] }) { (upstream) async throws in
      func answer(_ path: String, _ body: String, _ headers: String = "") async throws -> (Int, JSONValue) {
        let answer = try await upstream.post(path, body, key: nil, headers: headers)
        return (answer.status, try JSONValue(parsing: answer.body))
      }
      for (key, status) in [("dk_1", 400), ("dk_other", 401), ("", 401)] {
        let (found, json) = try await answer("/track", #"{"event":""}"#, "X-API-Key: \(key)\r\n")
        #expect(found == status && json["success"] == false && json["error"]?.string != nil)
      }
      let (unknown, _) = try await answer(
        "/", #"{"events":[\#(web(1, workspace: "ws_2"))],"batchId":"b","timestamp":"2026-10-23T12:00:00Z"}"#)
      #expect(unknown == 401)
      for (body, status, code) in [
        (batch([voidhash(1)], token: "vh_sk_1"), 401, "unauthorized"),
        (batch([voidhash(1)], token: nil), 401, "unauthorized"),
        (batch([voidhash(1)], token: "vh_pk_2"), 401, "unauthorized"), (batch([]), 400, "invalid_request"),
        (batch([voidhash(1), "{}"]), 400, "invalid_request"),
        (batch((0..<101).map { voidhash($0) }), 400, "invalid_request"),
      ] {
        let (found, json) = try await answer("/i/v1/batch", body)
        #expect(found == status && json["code"]?.string == code && json["_tag"]?.string != nil, "\(json)")
      }
      let (large, _) = try await answer("/track", String(repeating: " ", count: 64 * 1024 + 1), "X-API-Key: dk_1\r\n")
      #expect(large == 413)
      let get = try await upstream.get("/track")
      #expect(get.status == 405 && get.headers["allow"] == "POST")
      #expect(try JSONValue(parsing: get.body)["success"] == false)
      let (type, json) = try await answer("/i/v1/batch", "<a/>", "Content-Type: text/xml\r\n")
      #expect(type == 415 && json["_tag"]?.string != nil)
      #expect(try await upstream.json("/stats")["events"]?["stored"]?.integer() == 0)
    }
  }

  @Test("takes nothing of who has not consented, and counts it as rejected")
  func consent() async throws {
    try await withAll { (upstream) async throws in
      let answer = try await upstream.post(
        "/i/v1/batch", batch([voidhash(1), voidhash(2)]), key: nil, headers: "X-Analytics-Consent: denied\r\n")
      #expect(answer.status == 202 && answer.text == #"{"accepted":0,"rejected":2}"#)
      let stats = try await upstream.json("/stats")["protocols"]?["voidhash"]?["events"]
      #expect(stats?["stored"]?.integer() == 0 && stats?["rejected"]?["consent_denied"]?.integer() == 2)
    }
  }

  @Test("limits requests where the protocol does, 100 a minute of a key, and says truly when to come again")
  func requestLimit() async throws {
    try await withAll { (upstream) async throws in
      for number in 0..<100 { #expect(try await postTrack(upstream, track(number)).status == 200) }
      upstream.clock.advance(by: .seconds(10))
      let refused = try await postTrack(upstream, track(100))
      #expect(refused.status == 429 && refused.headers["retry-after"] == "50")
      #expect(try JSONValue(parsing: refused.body)["success"] == false)
      #expect(try await postTrack(upstream, track(100), key: "dk_2").status == 200)
      // Voidhash has no such limit, and events of the first protocol are counted by themselves.
      #expect(try await upstream.post("/i/v1/batch", batch((0..<100).map { voidhash($0) }), key: nil).status == 202)
      #expect(try await upstream.send((0..<100).map { event($0) }).status == 200)
      upstream.clock.advance(by: .seconds(50))
      #expect(try await postTrack(upstream, track(100)).status == 200)
      let stats = try await upstream.json("/stats")["protocols"]
      #expect(stats?["datalyr"]?["rate_limited"]?["key"]?.integer() == 1)
      #expect(stats?["voidhash"]?["rate_limited"]?["key"]?.integer() == 0)
    }
    try await withAll(configure: { $0.keyRequestsPerMinute = 1 }) { (upstream) async throws in
      #expect(try await postTrack(upstream, track(1)).status == 200)
      #expect(try await postTrack(upstream, track(2)).status == 429)
      for number in 0..<3 {
        #expect(try await upstream.post("/i/v1/batch", batch([voidhash(number)]), key: nil).status == 202)
      }
    }
  }

  @Test("fails as ordered in the form of whoever asks", arguments: [429, 503])
  func forcedFailures(status: Int) async throws {
    try await withAll(configure: {
      $0.failure = ForcedFailure(status: status)
      $0.retryAfter = 3
    }) { (upstream) async throws in
      let one = try await upstream.send([event(1)])
      let two = try await postTrack(upstream, track(1))
      let three = try await upstream.post("/i/v1/batch", batch([voidhash(1)]), key: nil)
      for answer in [one, two, three] { #expect(answer.status == status && answer.headers["retry-after"] == "3") }
      #expect(try JSONValue(parsing: one.body)["message"]?.string != nil)
      #expect(try JSONValue(parsing: two.body)["success"] == false)
      #expect(try JSONValue(parsing: three.body)["_tag"]?.string != nil)
      let stats = try await upstream.json("/stats")
      #expect(stats["forced_failures"]?.integer() == 3)
      #expect(stats["protocols"]?["datalyr"]?["forced_failures"]?.integer() == 1)
    }
  }

  @Test("lets pages of any origin post where browsers do")
  func browsers() async throws {
    try await withAll { (upstream) async throws in
      await upstream.client.send(
        "OPTIONS / HTTP/1.1\r\nHost: h\r\nOrigin: https://shop.example\r\nAccess-Control-Request-Method: POST\r\n"
          + "Access-Control-Request-Headers: content-type,x-batch-size\r\n\r\n")
      let preflight = try await upstream.client.response()
      #expect(preflight.status == 204)
      #expect(preflight.headers["access-control-allow-origin"] == "https://shop.example")
      #expect(preflight.headers["access-control-allow-headers"] == "content-type,x-batch-size")
      let body = #"{"events":[\#(web(1))],"batchId":"b","timestamp":"2026-10-23T12:00:00.000Z"}"#
      let answer = try await upstream.post("/", body, key: nil, headers: "Origin: https://shop.example\r\n")
      #expect(answer.status == 200 && answer.headers["access-control-allow-origin"] == "https://shop.example")
    }
  }

  @Test("of one protocol has no other's routes")
  func oneAlone() async throws {
    try await withUpstream(configure: { $0.protocols = DialectRegistry.all.filter { $0.name == "voidhash" } }) {
      (upstream) async throws in
      let other = try await upstream.send([event(1)])
      #expect(other.status == 404 && other.text.contains("/i/v1/batch") && other.text.contains("_tag"))
      #expect(try await upstream.post("/i/v1/batch", batch([voidhash(1)]), key: nil).status == 202)
      #expect(try await upstream.json("/stats")["protocols"]?.members?.map(\.key) == ["voidhash"])
    }
  }

  @Test("reads the lines of its file that say no protocol as the first one's")
  func olderFile() async throws {
    let directory = TemporaryDirectory()
    _ = directory.write(
      "events.ndjson",
      #"{"seq":0,"received_at":"2026-10-23T12:00:00.000Z","app":"key-12345678","kind":"event","event":\#(event(1))}"#
        + "\n")
    try await withAll(configure: { $0.dataDirectory = directory.path }) { (upstream) async throws in
      let apps = try await upstream.json("/stats")["apps"]?.array
      #expect(apps?.first?["protocol"] == "app-store-operator" && apps?.first?["stored"]?.integer() == 1)
    }
  }
}
