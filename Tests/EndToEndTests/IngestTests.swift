import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("The ingest listener")
  struct IngestTests {
    private let directory = TemporaryDirectory()

    private func head(_ lines: String..., path: String = "/v1/events") -> [UInt8] {
      let all = ["POST \(path) HTTP/1.1", "Host: relay", "X-Write-Key: aso_wk_test"] + lines
      return Array((all.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    private func json(_ body: [UInt8]) -> [UInt8] {
      head("Content-Type: application/json", "Content-Length: \(body.count)") + body
    }

    @Test("bodies come in pieces, compressed, announced and in a row")
    func bodies() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let events = (0..<7).map { TestEvent($0) }
      let bodies = events.map { TestEvent.batch([$0]) }
      let type = "Content-Type: application/json"
      let gzip = Stored.gzip(bodies[1])
      let deflate = Stored.deflate(bodies[2])
      let address = relay.ingest[0]
      let requests = [
        head(type, "Transfer-Encoding: chunked") + Self.chunks(bodies[0]),
        head(type, "Content-Encoding: gzip", "Content-Length: \(gzip.count)") + gzip,
        head(type, "Content-Encoding: deflate", "Content-Length: \(deflate.count)") + deflate,
        head(type, "Content-Encoding: gzip", "Transfer-Encoding: chunked") + Self.chunks(Stored.gzip(bodies[3])),
      ]
      for request in requests {
        let answers = try await onThread { try TestConnection(to: address).exchange(request) }
        #expect(answers.map(\.status) == [200], "\(answers.map(\.text))")
      }
      let announced = head(type, "Expect: 100-continue", "Content-Length: \(bodies[4].count)")
      try await onThread {
        let connection = try TestConnection(to: address)
        #expect(try connection.exchange(announced, interim: true).map(\.status) == [100])
        #expect(try connection.exchange(bodies[4]).map(\.status) == [200])
      }
      let row = json(bodies[5]) + json(bodies[6])
      let answers = try await onThread { try TestConnection(to: address).exchange(row, answers: 2) }
      #expect(answers.map(\.status) == [200, 200])
      #expect(await upstream.hasTaken(events.map(\.id)))
      for event in events { #expect(upstream.record.value.events[event.id] == [event.bytes]) }
      #expect(try await relay.stop() == 0)
    }

    private static func chunks(_ body: [UInt8]) -> [UInt8] {
      body.flatMap { Array("1\r\n".utf8) + [$0] + Array("\r\n".utf8) } + Array("0\r\n\r\n".utf8)
    }

    @Test("a request whose length is said twice is refused, and its connection ended")
    func framing() async throws {
      let relay = try await RelayProcess(directory, RelaySettings())
      let address = relay.ingest[0]
      let body = TestEvent.batch([TestEvent(0)])
      let type = "Content-Type: application/json"
      let length = "Content-Length: \(body.count)"
      for request in [
        head(type, length, "Transfer-Encoding: chunked") + Self.chunks(body),
        head(type, length, "Content-Length: \(body.count + 1)") + body, head(type, length, length) + body,
      ] {
        try await onThread {
          let connection = try TestConnection(to: address)
          #expect(try connection.exchange(request).map(\.status) == [400])
          #expect(connection.isEnded())
        }
      }
      #expect(try await relay.stop() == 0)
    }

    @Test("what is no request for it gets the right status, with the API's error object")
    func otherRequests() async throws {
      let relay = try await RelayProcess(directory, RelaySettings())
      let address = relay.ingest[0]
      func ask(_ method: String, _ path: String, _ headers: [(String, String)], _ body: [UInt8] = []) async throws
        -> TestAnswer
      {
        try await onThread { try TestConnection(to: address).send(method, path, headers: headers, body: body) }
      }
      let key = ("X-Write-Key", "aso_wk_test")
      let body = TestEvent.batch([TestEvent(0)])
      let missing = try await ask("POST", "/v1/other", [key], body)
      #expect(missing.status == 404 && missing.json?["code"] == "not_found")
      let method = try await ask("GET", "/v1/events", [key])
      #expect(method.status == 405 && method.json?["code"] == "method_not_allowed")
      #expect(method.headers["allow"] == "POST")
      let type = try await ask("POST", "/v1/events", [key, ("Content-Type", "text/plain")], body)
      #expect(type.status == 415 && type.json?["code"] == "unsupported_media_type")
      #expect(try await ask("POST", "/v1/events", [key], body).status == 200)
      #expect(try await ask("POST", "/v1/events", [key, ("Content-Type", "application/x+json")], body).status == 200)
      let noKey = try await ask("POST", "/v1/events", [("Content-Type", "application/json")], body)
      #expect(noKey.status == 401 && noKey.json?["code"] == "invalid_write_key")
      #expect(try await relay.stop() == 0)
    }

    @Test("a body of exactly 1 MB is taken, one byte more is refused, compressed or not")
    func size() async throws {
      let relay = try await RelayProcess(directory, RelaySettings())
      let batch = TestEvent.batch([TestEvent(0)])
      let full = batch + [UInt8](repeating: 0x20, count: 1_048_576 - batch.count)
      #expect(try await relay.post(full).status == 200)
      let over = try await relay.post(full + [0x20])
      #expect(over.status == 413 && over.json?["code"] == "payload_too_large")
      let gzip = [("Content-Encoding", "gzip")]
      #expect(try await relay.post(Stored.gzip(full), headers: gzip).status == 200)
      #expect(try await relay.post(Stored.gzip(full + [0x20]), headers: gzip).status == 413)
      #expect(try await relay.post(batch, headers: gzip).status == 400)
    }

    @Test("a body that isn't a batch of JSON is refused whole, whatever it is, and the relay goes on")
    func hostile() async throws {
      let relay = try await RelayProcess(directory, RelaySettings())
      let event = TestEvent(0).text
      let texts = [
        "", "{", "[]", "null", #"{"events":[]}"#, #"{"events":{}}"#, #"{"other":[]}"#, #"{"events":[\#(event)]} x"#,
        #"{"events":[\#(event)],"unread":truexyz}"#, #"{"events":[\#(event)],"unread":01.e}"#,
        #"{"events":[\#(event)],"unread":"\q"}"#, #"{"events":[\#(event),]}"#, "\u{FEFF}" + #"{"events":[\#(event)]}"#,
        String(repeating: "[", count: 1_000_000), String(repeating: #"{"events":["#, count: 50_000),
        #"{"events":["# + Array(repeating: event, count: 101).joined(separator: ",") + "]}",
      ]
      for text in texts {
        let answer = try await relay.post(Array(text.utf8))
        #expect(answer.status == 400 && answer.json?["code"] == "invalid_body", "\(text.prefix(60)): \(answer.text)")
      }
      let invalid =
        Array(#"{"events":["#.utf8) + Array(event.utf8) + Array(#"],"unread":""#.utf8) + [0xC3, 0x28, 0x22, 0x7D]
      #expect(try await relay.post(invalid).status == 400)
      #expect(try await relay.post(TestEvent.batch([TestEvent(1)])).status == 200)
      #expect(try await relay.stop() == 0)
    }

    @Test("each event is judged by itself: every code, in the order of the rules, with index and id")
    func codes() async throws {
      let relay = try await RelayProcess(directory, RelaySettings())
      func text(_ changes: String) -> String {
        let id = "0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10"
        return #"{"event_id":"\#(id)","name":"n","anonymous_id":"a","occurred_at":"\#(TestEvent.now)"\#(changes)}"#
      }
      let long = String(repeating: "x", count: 1025)
      let keys = (0...50).map { #""k\#($0)":1"# }.joined(separator: ",")
      let cases: [(event: String, code: String?)] = [
        (text(""), nil), ("17", "invalid_event"), ("[]", "invalid_event"),
        (text(#","name":"$a","more":"\#(String(repeating: "y", count: 8192))""#), "event_too_large"),
        (text(#","name":"$a","event_id":"x""#), "reserved_name"),
        (text(#","name":"a b","event_id":1"#), "invalid_name"),
        (text(#","name":"$""#), "invalid_name"), (text(#","event_id":"x","occurred_at":"y""#), "invalid_id"),
        (text(#","anonymous_id":"""#), "invalid_id"), (text(#","user_id":7"#), "invalid_id"),
        (text(#","occurred_at":"2026-02-30T00:00:00Z","properties":[]"#), "invalid_timestamp"),
        (text(#","occurred_at":"2026-10-23T12:00:00""#), "invalid_timestamp"),
        (text(#","properties":{\#(keys),"nested":{}}"#), "too_many_properties"),
        (text(#","properties":{"nested":[]}"#), "invalid_properties"),
        (text(#","properties":{"long":"\#(long)"}"#), "invalid_properties"),
        (text(#","properties":{"":1}"#), "invalid_properties"), (text(#","properties":[]"#), "invalid_properties"),
        (text(#","properties":{"ok":"\#(long.dropLast())"},"context":7"#), nil),
      ]
      let body = #"{"events":[\#(cases.map(\.event).joined(separator: ","))]}"#
      let answer = try await relay.post(Array(body.utf8))
      #expect(answer.status == 200)
      #expect(answer.json?["accepted"]?.integer() == cases.filter { $0.code == nil }.count)
      let rejected = answer.json?["rejected"]?.array ?? []
      let told = Dictionary(
        rejected.map { ($0["index"]?.integer() ?? -1, $0["code"]?.string ?? "") }, uniquingKeysWith: { $1 })
      for (index, item) in cases.enumerated() {
        #expect(told[index] == item.code, "\(item.event.prefix(150))")
      }
      #expect(rejected.first { $0["index"]?.integer() == 1 }?["event_id"] == JSONValue.null)
      #expect(rejected.first { $0["index"]?.integer() == 4 }?["event_id"]?.string == "x")
    }
  }
}
