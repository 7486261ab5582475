import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A configuration that changes under waiting events")
  struct ChangedConfigurationTests {
    private let directory = TemporaryDirectory()

    @Test("nothing goes to an upstream that it wasn't accepted for, until the operator says --adopt")
    func changedUpstream() async throws {
      let first = try ScriptedUpstream { _ in .error(503, "server_error") }
      let second = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: first))
      let events = [TestEvent(0), TestEvent(1)]
      try await relay.accept(events)
      #expect(try await relay.stop() == 0)

      let settings = RelaySettings(upstream: second)
      let holding = try await RelayProcess(directory, settings)
      #expect(try await holding.flush(timeout: "1s") == 2)
      #expect(try await holding.destination("upstream")["state"]?.string == "held")
      #expect(second.record.value.requests.isEmpty)
      #expect(try await holding.stop() == 0)
      let check = try await eventRelay("check", "--config", directory.file("relay.yaml"))
      #expect((check.output + check.errors).contains("--adopt"), "check: \(check.output)\(check.errors)")

      let adopting = try await RelayProcess(directory, settings, "--adopt")
      #expect(await second.hasTaken(events.map(\.id)))
      #expect(try await adopting.flush() == 0)
      #expect(try await adopting.stop() == 0)
      let usual = try await RelayProcess(directory, settings)
      try await usual.accept([TestEvent(3)])
      #expect(try await usual.flush() == 0)
    }

    @Test("a sink that was removed keeps its place, and what it holds is seen")
    func removedSink() async throws {
      let upstream = try ScriptedUpstream()
      let first = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      try await first.accept([TestEvent(0)])
      #expect(try await first.flush() == 0)
      #expect(try await first.stop() == 0)

      // It has had everything: its place is kept all the same, and with it what comes after.
      let without = RelaySettings(upstream: upstream, hasSink: false)
      let relay = try await RelayProcess(directory, without)
      try await relay.accept([TestEvent(1)])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.destination("raw")["pending"]?.integer() == 1)
      #expect(try await relay.stop() == 0)
      let without30Days = try await eventRelay("check", "--config", directory.file("relay.yaml"))
      #expect(without30Days.output.contains("1 event waits for sink raw"), "\(without30Days.output)")
      #expect(without30Days.output.contains("its place is kept until"))
      // Unless the user wants none kept.
      var none = without
      none.further = "positions: { keep: 0s }"
      let forgetful = try await RelayProcess(directory, none)
      #expect(try await forgetful.status()["destinations"]?.array?.map { $0["name"]?.string } == ["upstream"])
      #expect(try await forgetful.stop() == 0)
      #expect(readFile(directory.file("data/positions/raw.json")) == nil)

      // It is owed an event, since its directory is none.
      _ = directory.write("blocked", "")
      var blocked = RelaySettings(upstream: upstream, hasSink: false)
      blocked.further = "sinks: [{ name: raw, type: ndjson, path: ./blocked/%Y.ndjson }]"
      let failing = try await RelayProcess(directory, blocked)
      let owed = TestEvent(2)
      try await failing.accept([owed])
      #expect(await upstream.hasTaken([owed.id]))
      try await failing.crash()

      let again = try await RelayProcess(directory, without)
      let status = try await again.destination("raw")
      #expect(status["state"]?.string == "held" && status["pending"]?.integer() == 1, "\(status)")
      #expect(status["detail"]?.string?.contains("put it back under sinks") == true)
      #expect(try await again.stop() == 0)
      let check = try await eventRelay("check", "--config", directory.file("relay.yaml"))
      #expect(check.output.contains("1 event waits for sink raw"), "check: \(check.output)\(check.errors)")
    }

    @Test("an app that was removed with events waiting keeps them until it is back")
    func removedApp() async throws {
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      let both = "apps: [{ name: ios, write_key: aso_wk_ios }, { name: web, write_key: aso_wk_web }]"
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, keys: "listed", apps: both))
      let (kept, sent) = (TestEvent(0), TestEvent(1))
      try await relay.accept([kept], key: "aso_wk_ios")
      try await relay.accept([sent], key: "aso_wk_web")
      #expect(try await relay.stop() == 0)

      upstream.behave { _ in .accept() }
      let web = RelaySettings(
        upstream: upstream, keys: "listed", apps: "apps: [{ name: web, write_key: aso_wk_web }]")
      let less = try await RelayProcess(directory, web)
      #expect(await upstream.hasTaken([sent.id]))
      #expect(try await less.flush(timeout: "1s") == 1)
      #expect(upstream.record.value.events[kept.id] == nil)
      #expect(try await less.stop() == 0)
      let check = try await eventRelay("check", "--config", directory.file("relay.yaml"))
      #expect((check.output + check.errors).contains("ios"), "check: \(check.output)\(check.errors)")

      let again = try await RelayProcess(directory, RelaySettings(upstream: upstream, keys: "listed", apps: both))
      #expect(await upstream.hasTaken([kept.id]))
      #expect(try await again.flush() == 0)
    }
  }
}
