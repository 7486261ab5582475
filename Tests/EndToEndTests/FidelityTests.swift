import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Bytes in are bytes out")
  struct FidelityTests {
    /// An event with this after its required fields, its white space left as it is.
    private static func event(_ number: Int, _ rest: String, time: String) -> TestEvent {
      let hex = "00000000000" + String(number, radix: 16)
      let id = "0b6f6a3e-3c3e-4d8a-8f6e-\(hex.suffix(12))"
      return TestEvent(
        id: id, text: #"{"event_id":"\#(id)","name":"n","anonymous_id":"a","occurred_at":"\#(time)"\#(rest)}"#)
    }

    private static let spellings = [
      #","properties":{"n":9007199254740993}"#, #","properties":{"n":39.990}"#, #","properties":{"n":1E5}"#,
      #","properties":{"n":-0.0,"m":1e-400,"o":123456789012345678901234567890}"#,
      #","properties":{"t":"\u0131\/\b\u00e9 é 😀 \ud83d\ude00"}"#, #","properties":{"t":"\u0000"}"#,
      #","properties":{"lone":"\ud800"}"#, #","properties":null"#, #","unknown":{"z":[1,{"a":[]}],"a":1}"#,
      #" , "properties" : { "spaced" : true } "#, #","name":"m","name":"n""#,
      #","context":{"app_version":12,"else":"kept"}"#, #","context":"no object""#, #","user_id":null"#,
      #","properties":{"dup":1,"dup":2}"#,
    ]

    @Test("events arrive upstream and in the line file as they were sent, whatever their spelling")
    func spellings() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let now = TestEvent.now
      let events = Self.spellings.enumerated().map { Self.event($0.offset, $0.element, time: now) }
      try await relay.accept(events)
      #expect(try await relay.flush() == 0)
      let taken = upstream.record.value.events
      for event in events {
        #expect(taken[event.id]?.map { String(decoding: $0, as: UTF8.self) } == [event.text])
      }
      let lines = sinkLines(directory).map { RawJSON.member("event", of: Array($0.utf8)) ?? [] }
      #expect(lines == events.map(\.bytes))
      #expect(try await relay.stop() == 0)
    }

    @Test("an event of several lines is one line in the line file, and untouched upstream")
    func severalLines() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let event = Self.event(1, ",\n  \"properties\":\n {\n\t\"a\" : 1 }\n", time: TestEvent.now)
      try await relay.accept([event])
      #expect(try await relay.flush() == 0)
      #expect(upstream.record.value.events[event.id] == [event.bytes])
      let lines = sinkLines(directory)
      #expect(lines.count == 1)
      let written = lines.first.flatMap { RawJSON.member("event", of: Array($0.utf8)) } ?? []
      #expect(written == event.bytes.map { $0 == UInt8(ascii: "\n") ? 0x20 : $0 })
    }

    @Test("a clamped event's time is replaced on its way upstream only, and by the time it was received")
    func clamped() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let old = Self.event(1, #","properties":{"n":1.50}"#, time: "2020-01-01T00:00:00Z")
      let answer = try await relay.post(TestEvent.batch([old]))
      #expect(answer.json?["clamped"] == [["index": 0, "event_id": .string(old.id)]])
      #expect(try await relay.flush() == 0)
      let line = Array(try #require(sinkLines(directory).first).utf8)
      #expect(RawJSON.member("event", of: line) == old.bytes)
      let used = try #require(RawJSON.string("occurred_at_used", of: line))
      #expect(used == RawJSON.string("received_at", of: line))
      let forwarded = old.text.replacing("2020-01-01T00:00:00Z", with: used)
      #expect(upstream.record.value.events[old.id]?.map { String(decoding: $0, as: UTF8.self) } == [forwarded])
    }

    @Test("a time from the farthest past or future is clamped like any other, its neighbours unharmed")
    func farTimes() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let times = [
        "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59", "1970-01-01T00:00:00Z", "6429-10-17T02:45:55.328Z",
        "9999-12-31T23:59:60-23:59",
      ]
      var events = times.enumerated().map { Self.event($0, "", time: $1) }
      events.append(Self.event(events.count, "", time: TestEvent.now))
      let answer = try await relay.post(TestEvent.batch(events))
      #expect(answer.json?["accepted"]?.integer() == events.count)
      #expect(answer.json?["clamped"]?.array?.map { $0["index"]?.integer() } == times.indices.map { $0 })
      #expect(try await relay.flush() == 0)
      #expect(sinkLines(directory).count == events.count)
      #expect(upstream.record.value.order == events.map(\.id))
    }

    @Test("an identify is sent in its place among the same install's events")
    func identify() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let (before, after) = (TestEvent(1, install: "one"), TestEvent(2, install: "one"))
      try await relay.accept([before])
      let body = #"{ "anonymous_id" : "one","user_id":"u_1", "extra":1.0 }"#
      #expect(try await relay.post(Array(body.utf8), to: "/v1/identify").status == 204)
      try await relay.accept([after])
      upstream.behave { _ in .accept() }
      #expect(try await relay.flush() == 0)
      #expect(upstream.record.value.order == [before.id, "identify:one", after.id])
      let forwarded = upstream.record.value.requests.last { $0.path == "/v1/identify" }
      #expect(forwarded.map { String(decoding: $0.body, as: UTF8.self) } == body)
      let line = Array(try #require(sinkLines(directory).dropFirst().first).utf8)
      #expect(RawJSON.string("kind", of: line) == "identify")
      #expect(RawJSON.member("event", of: line) == Array(body.utf8))
    }
  }
}
