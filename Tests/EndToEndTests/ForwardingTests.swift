import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Forwarding")
  struct ForwardingTests {
    private let directory = TemporaryDirectory()

    private func deadLetters() -> [JSONValue] {
      sinkLines(directory, "data/dead-letters").compactMap { try? JSONValue(parsing: $0) }
    }

    @Test("an event that the upstream rejects goes to the dead letters with code and message, its neighbours arrive")
    func rejected() async throws {
      let upstream = try ScriptedUpstream { request in
        .accept(rejected: request.events.count == 3 ? [1: "too_many_event_names"] : [:])
      }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, linger: "10m"))
      let events = [TestEvent(0), TestEvent(1), TestEvent(2)]
      try await relay.accept(events)
      #expect(try await relay.flush() == 0)
      #expect(Set(upstream.record.value.events.keys) == [events[0].id, events[2].id])
      let letter = try #require(deadLetters().first)
      #expect(deadLetters().count == 1)
      #expect(letter["destination"] == "upstream")
      #expect(letter["reason"] == "rejected")
      #expect(letter["code"] == "too_many_event_names")
      #expect(letter["message"] == "as scripted")
      #expect(letter["status"]?.integer() == 200)
      #expect(letter["seq"]?.integer() == 2)
      #expect(letter["event"]?["event_id"]?.string == events[1].id)
      let ledger = try #require(try await relay.destination("upstream")["ledger"])
      #expect(ledger["accepted"]?.integer() == 3)
      #expect(ledger["delivered"]?.integer() == 2)

      let listed = try await eventRelay("dead-letters", "list", "--config", directory.file("relay.yaml"), "--json")
      #expect(listed.exitCode == 0, "\(listed.errors)")
      #expect(listed.output.contains(events[1].id) && listed.output.contains("too_many_event_names"))
      let exported = try await eventRelay("dead-letters", "export", "--config", directory.file("relay.yaml"))
      #expect(exported.output.contains(String(decoding: events[1].bytes, as: UTF8.self)))
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("a refusal with the API's error object is final: the batch is dead-lettered with status and code")
    func refused() async throws {
      let upstream = try ScriptedUpstream { _ in .error(403, "quota_exceeded") }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      try await relay.accept([TestEvent(0), TestEvent(1)])
      #expect(try await relay.flush() == 0)
      #expect(deadLetters().count == 2)
      #expect(deadLetters().allSatisfy { $0["status"]?.integer() == 403 && $0["code"] == "quota_exceeded" })
      #expect(deadLetters().allSatisfy { $0["reason"] == "refused" })
    }

    @Test("a portal's page or redirect is an outage with a state that says so; nothing is lost to it")
    func foreign() async throws {
      let upstream = try ScriptedUpstream { request in
        switch request.number % 3 {
        case 0: .answer(302, headers: ["Location: http://portal.example/"])
        case 1: .answer(200, headers: ["Content-Type: text/html"], body: "<html>Welcome to our Wi-Fi</html>")
        default: .answer(403, headers: ["Content-Type: text/html"], body: "<html>denied</html>")
        }
      }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let event = TestEvent(0)
      try await relay.accept([event])
      try await upstream.refuses(4)
      #expect(try await relay.destination("upstream")["state"]?.string == "foreign")
      upstream.behave { _ in .accept() }
      #expect(await upstream.hasTaken([event.id]))
      #expect(try await relay.flush() == 0)
      #expect(deadLetters().isEmpty)
      #expect(try await relay.destination("upstream")["state"]?.string == "running")
    }

    @Test("a batch that is answered with 400 is halved until the bad event stands alone")
    func badEvent() async throws {
      let upstream = try ScriptedUpstream { request in
        request.events.contains { String(decoding: $0, as: UTF8.self).contains("poison") }
          ? .error(400, "invalid_body") : .accept()
      }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, linger: "10m"))
      var events = (0..<64).map { TestEvent($0) }
      events[17] = TestEvent(17, name: "poison")
      try await relay.accept(events)
      #expect(try await relay.flush() == 0)
      #expect(upstream.record.value.events.count == 63)
      #expect(deadLetters().compactMap { $0["event"]?["event_id"]?.string } == [events[17].id])
      #expect(deadLetters().first?["status"]?.integer() == 400)
    }

    @Test("a batch that is too large for the upstream is halved, and nothing of it is lost")
    func tooLarge() async throws {
      let upstream = try ScriptedUpstream { $0.events.count > 7 ? .error(413, "payload_too_large") : .accept() }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, linger: "10m"))
      let events = (0..<50).map { TestEvent($0) }
      try await relay.accept(events)
      #expect(try await relay.flush() == 0)
      #expect(upstream.record.value.order == events.map(\.id))
      #expect(deadLetters().isEmpty)
    }

    @Test("an idle connection that the upstream closed costs no retry delay")
    func hangUps() async throws {
      let upstream = try ScriptedUpstream { _ in .acceptAndHangUp }
      let settings = RelaySettings(upstream: upstream, retry: "initial: 10m, max: 10m, jitter: 0%")
      let relay = try await RelayProcess(directory, settings)
      for number in 0..<5 {
        try await relay.accept([TestEvent(number)])
        #expect(try await relay.flush() == 0)
      }
      #expect(upstream.record.value.events.count == 5)
    }

    @Test("a wait the upstream asked for holds over a kill -9, and a flush doesn't skip it")
    func waitSurvives() async throws {
      let start = Fact<ContinuousClock.Instant?>(nil)
      let upstream = try ScriptedUpstream { _ in
        start.change { $0 = $0 ?? .now }
        return .error(429, "rate_limited", headers: ["Retry-After: 3"])
      }
      let settings = RelaySettings(upstream: upstream)
      let relay = try await RelayProcess(directory, settings)
      let event = TestEvent(0)
      try await relay.accept([event])
      let limitedAt = try #require(await start.wait { $0 != nil } ?? nil)
      #expect(try await relay.flush(timeout: "10ms") == 1)
      // On record within a moment of the answer.
      let record = directory.file("data/positions/upstream.json")
      try await lookAgain { !String(decoding: readFile(record) ?? [], as: UTF8.self).contains("retry_at") }
      try await relay.crash()
      let next = Fact<ContinuousClock.Instant?>(nil)
      upstream.behave { _ in
        next.change { $0 = $0 ?? .now }
        return .accept()
      }
      let again = try await RelayProcess(directory, settings)
      #expect(await upstream.hasTaken([event.id]))
      let elapsed = try #require(next.value) - limitedAt
      #expect(elapsed >= .seconds(3), "the second attempt came after \(elapsed)")
      #expect(try await again.flush() == 0)
    }

    @Test("events wait under their app: the key in force when they are sent is used")
    func rotatedKey() async throws {
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      func settings(_ key: String) -> RelaySettings {
        RelaySettings(
          upstream: upstream, keys: "listed",
          apps: "apps: [{ name: ios, write_key: \(key), accept_keys: [local], default: true }]")
      }
      let relay = try await RelayProcess(directory, settings("aso_wk_old"))
      let event = TestEvent(0)
      try await relay.accept([event], key: "local")
      #expect(try await relay.post(TestEvent.batch([TestEvent(1)]), key: nil).status == 200)
      #expect(try await relay.post(TestEvent.batch([TestEvent(2)]), key: "unknown").status == 401)
      try await upstream.refuses(1)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      upstream.behave { _ in .accept() }
      let before = upstream.record.value.requests.count
      let again = try await RelayProcess(directory, settings("aso_wk_new"))
      #expect(await upstream.hasTaken([event.id]))
      #expect(try await again.flush() == 0)
      let keys = Set(upstream.record.value.requests.dropFirst(before).map(\.key))
      #expect(keys == ["aso_wk_new"])
      #expect(Set(upstream.record.value.requests.prefix(before).map(\.key)) == ["aso_wk_old"])
    }

    @Test("each sender's own key goes upstream, over a restart too, when any key is let in")
    func anyKey() async throws {
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      let settings = RelaySettings(upstream: upstream)
      let relay = try await RelayProcess(directory, settings)
      try await relay.accept([TestEvent(0)], key: "aso_wk_one")
      try await relay.accept([TestEvent(1)], key: "aso_wk_two")
      #expect(try await relay.post(TestEvent.batch([TestEvent(2)]), key: nil).status == 401)
      try await relay.crash()
      upstream.behave { _ in .accept() }
      let before = upstream.record.value.requests.count
      let again = try await RelayProcess(directory, settings)
      #expect(try await again.flush() == 0)
      let keys = Set(upstream.record.value.requests.dropFirst(before).map(\.key))
      #expect(keys == ["aso_wk_one", "aso_wk_two"])
    }
  }
}
