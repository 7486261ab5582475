import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A reload")
  struct ReloadTests {
    private let directory = TemporaryDirectory()
    private let events = (0..<10).map { TestEvent($0) }

    /// Settings whose sinks are as given.
    private func settings(_ upstream: ScriptedUpstream, sinks: String, _ further: String = "") -> RelaySettings {
      var settings = RelaySettings(upstream: upstream, hasSink: false)
      settings.further = "sinks: [\(sinks)]\n\(further)"
      return settings
    }

    private static let raw = "{ name: raw, type: ndjson, path: ./events/%Y.ndjson }"
    private static let audit = "{ name: audit, type: archive, path: ./archive }"

    /// Writes the settings and has them reloaded; the answer.
    @discardableResult
    private func reload(_ relay: RelayProcess, _ settings: RelaySettings, status: Int = 200) async throws -> JSONValue {
      _ = settings.write(in: directory)
      let answer = try await relay.admin("POST", "/reload")
      #expect(answer.status == status, "\(answer.text)")
      return try #require(answer.json)
    }

    private func texts(_ json: JSONValue, _ key: String) -> [String] { (json[key]?.array ?? []).compactMap(\.string) }

    private func ids(_ lines: [String]) -> [String] {
      lines.compactMap { (try? JSONValue(parsing: $0))?["event"]?["event_id"]?.string }
    }

    /// The ids of all events in an archive, by the relay's own reader.
    private func archived() async throws -> [String] {
      let cat = try await eventRelay("archive", "cat", directory.file("archive"))
      #expect(cat.exitCode == 0, "\(cat.errors)")
      return ids(cat.output.split(separator: "\n").map(String.init))
    }

    @Test("sinks come, go and come back: each event is in each exactly once, from when the sink was there")
    func comeAndGo() async throws {
      let upstream = try ScriptedUpstream()
      let both = settings(upstream, sinks: "\(Self.raw), \(Self.audit)")
      let relay = try await RelayProcess(directory, settings(upstream, sinks: ""))
      let events = self.events
      try await relay.accept([events[0]])
      #expect(texts(try await reload(relay, both), "applied") == ["sinks.raw", "sinks.audit"])
      try await relay.accept([events[1]])
      #expect(try await relay.flush() == 0)
      // They go, with an event that comes meanwhile: their places are kept.
      #expect(texts(try await reload(relay, settings(upstream, sinks: "")), "applied") == ["sinks.raw", "sinks.audit"])
      #expect(ids(sinkLines(directory)) == [events[1].id])
      #expect(try await archived() == [events[1].id])
      try await relay.accept([events[2]])
      for name in ["raw", "audit"] {
        let status = try await relay.destination(name)
        #expect(status["type"]?.string == "removed" && status["state"]?.string == "stopped", "\(status)")
        #expect(status["pending"]?.integer() == 1)
        #expect(status["detail"]?.string?.contains("its place is kept until") == true)
      }
      // One comes back in the same life, the other in the next.
      try await reload(relay, settings(upstream, sinks: Self.raw))
      try await relay.accept([events[3]])
      #expect(try await relay.stop() == 0)
      let next = try await RelayProcess(directory, settings(upstream, sinks: Self.raw))
      #expect(next.process.errorText.contains("a sink is no longer configured"))
      try await next.accept([events[4]])
      try await reload(next, both)
      try await next.accept([events[5]])
      #expect(try await next.flush() == 0)
      #expect(try await next.stop() == 0)
      #expect(ids(sinkLines(directory)) == events[1...5].map(\.id))
      #expect(try await archived() == events[1...5].map(\.id))
      let verify = try await eventRelay("archive", "verify", directory.file("archive"))
      #expect(verify.exitCode == 0, "\(verify.output)\(verify.errors)")
    }

    @Test("a sink's path, rotation and filter take effect, and no event is lost or doubled by it")
    func changed() async throws {
      let upstream = try ScriptedUpstream()
      func sink(_ keys: String) -> RelaySettings {
        settings(upstream, sinks: "{ name: raw, type: ndjson, \(keys) }")
      }
      let relay = try await RelayProcess(directory, sink("path: ./events/%Y.ndjson"))
      let events = self.events
      try await relay.accept([events[0]])
      // Not waited for: what is under way when the sink changes is settled by it, or taken up by the next.
      try await reload(relay, sink("path: ./other/%Y.ndjson"))
      try await relay.accept([events[1]])
      try await reload(relay, sink("path: ./other/%Y.ndjson, rotate: { size: 1KiB }"))
      try await relay.accept([events[2]])
      try await reload(relay, sink("path: ./other/%Y.ndjson, only: { kinds: [identify] }"))
      try await relay.accept([events[3]])
      #expect(try await relay.flush() == 0)
      try await reload(relay, sink("path: ./other/%Y.ndjson"))
      try await relay.accept([events[4]])
      #expect(try await relay.flush() == 0)
      let ledger = try await relay.destination("raw")["ledger"]
      #expect(ledger?["delivered"]?.integer() == 4 && ledger?["filtered"]?.integer() == 1, "\(ledger ?? .null)")
      #expect(try await relay.stop() == 0)
      let written = ids(sinkLines(directory) + sinkLines(directory, "other"))
      #expect(written.sorted() == [0, 1, 2, 4].map { events[$0].id }.sorted())
      #expect(ids(sinkLines(directory)).allSatisfy { $0 == events[0].id })
    }

    @Test("two sinks that change their paths with each other get each their own")
    func swapped() async throws {
      let upstream = try ScriptedUpstream()
      func pair(_ one: String, _ other: String) -> RelaySettings {
        settings(
          upstream,
          sinks: "{ name: a, type: ndjson, path: ./events/\(one).ndjson }, { name: b, type: ndjson, path: "
            + "./events/\(other).ndjson, only: { apps: [none] } }")
      }
      let relay = try await RelayProcess(directory, pair("x", "y"))
      try await relay.accept([events[0]])
      #expect(texts(try await reload(relay, pair("y", "x")), "applied") == ["sinks.a", "sinks.b"])
      try await relay.accept([events[1]])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(ids(sinkLines(directory)).sorted() == [events[0].id, events[1].id].sorted())
    }

    @Test("senders' connections stay open through ten of them, while sinks come and go")
    func connections() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, settings(upstream, sinks: Self.raw))
      let address = relay.ingest[0]
      let connection = try await onThread { try TestConnection(to: address) }
      for i in 0..<10 {
        let answer = try await onThread {
          try connection.send(
            "POST", "/v1/events", headers: [("Content-Type", "application/json"), ("X-Write-Key", "aso_wk_test")],
            body: TestEvent.batch([events[i]]))
        }
        #expect(answer.status == 200)
        let sinks = i % 2 == 0 ? "\(Self.raw), \(Self.audit)" : Self.raw
        var next = settings(upstream, sinks: sinks, "logging: { level: \(i % 2 == 0 ? "debug" : "info") }")
        next.linger = "\(20 + i)ms"
        try await reload(relay, next)
      }
      #expect(try await relay.flush() == 0)
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(try await relay.stop() == 0)
      #expect(ids(sinkLines(directory)) == events.map(\.id))
    }

    @Test("while senders post without a pause, sinks that change, go and come back have each event exactly once")
    func underLoad() async throws {
      let upstream = try ScriptedUpstream()
      func sinks(_ raw: String, _ audit: String) -> RelaySettings {
        settings(
          upstream,
          sinks: "{ name: raw, type: ndjson, path: ./events/\(raw)/%Y.ndjson }, \(audit)")
      }
      let relay = try await RelayProcess(directory, sinks("0", Self.audit))
      let senders = Senders(eventCount: 6000)
      senders.relay(at: relay.ingest[0])
      let sending = Task {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<4 { group.addTask { try await senders.send() } }
          try await group.waitForAll()
        }
      }
      for turn in 1...12 {
        try await senders.release(turn * 500, untilAccepted: (turn - 1) * 400)
        try await reload(relay, sinks("\(turn % 3)", turn % 2 == 0 ? Self.audit : ""))
      }
      try await sending.value
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(senders.acceptedIDs.count == 6000)
      #expect(ids(sinkLines(directory)).sorted() == senders.acceptedIDs.sorted())
      #expect(try await archived().sorted() == senders.acceptedIDs.sorted())
      #expect(await upstream.hasTaken(senders.acceptedIDs))
    }

    @Test("signals that overlap settle on the last file; the metric says how the last one went")
    func overlapping() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, settings(upstream, sinks: Self.raw))
      for i in 0..<20 {
        _ = settings(upstream, sinks: i % 2 == 0 ? "" : "\(Self.raw), \(Self.audit)").write(in: directory)
        relay.process.kill(SIGHUP)
      }
      // It is one of those that waited, or comes after them.
      let last = settings(upstream, sinks: Self.audit)
      try await reload(relay, last)
      let names = try await relay.status()["destinations"]?.array?.filter { $0["type"]?.string != "removed" }
        .compactMap { $0["name"]?.string }
      #expect(names == ["upstream", "audit"])
      #expect(try await relay.admin("GET", "/metrics").text.contains("event_relay_config_last_reload_success 1\n"))
      try await relay.accept([events[0]])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(try await archived() == [events[0].id])
    }

    @Test("a bad file changes nothing and says why, and so does a sink's place that can't be used")
    func bad() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, settings(upstream, sinks: Self.raw))
      var typo = settings(upstream, sinks: Self.audit)
      typo.log += ", max_sice: 1GiB"
      let answer = try await reload(relay, typo, status: 422)
      #expect(texts(answer, "faults").contains { $0.contains("max_sice") && $0.contains("max_size") })
      #expect(try await relay.admin("GET", "/metrics").text.contains("event_relay_config_last_reload_success 0\n"))
      _ = directory.write("blocked", "")
      let blocked = settings(
        upstream, sinks: "\(Self.audit), { name: raw, type: ndjson, path: ./blocked/%Y.ndjson }",
        "logging: { level: error }")
      let refusal = try await reload(relay, blocked, status: 422)
      #expect(
        texts(refusal, "faults").contains { $0.contains("sinks[1].path: ") && $0.contains("blocked is no directory") })
      let names = try await relay.status()["destinations"]?.array?.compactMap { $0["name"]?.string }
      #expect(names == ["upstream", "raw"])
      try await relay.accept([events[0]])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(ids(sinkLines(directory)) == [events[0].id])
      #expect(relay.process.errorText.contains("stopped"))
    }

    @Test("takes no longer for an upstream that hangs and a backlog; what waits goes out under the new key")
    func hanging() async throws {
      let open = Fact(false)
      let upstream = try ScriptedUpstream { _ in open.value ? .accept() : .silence }
      var first = settings(upstream, sinks: Self.raw)
      first.keys = "listed"
      first.apps = "apps: [{ name: ios, write_key: aso_wk_old }]"
      first.timeout = "500ms"
      let relay = try await RelayProcess(directory, first)
      let events = (0..<2000).map { TestEvent($0) }
      try await relay.accept(events, key: "aso_wk_old")
      #expect(await upstream.record.wait { !$0.requests.isEmpty } != nil)
      var second = first
      second.apps = "apps: [{ name: ios, write_key: aso_wk_new, accept_keys: [aso_wk_old] }]"
      second.further = "sinks: [\(Self.audit)]"
      #expect(texts(try await reload(relay, second), "applied") == ["apps", "sinks.raw", "sinks.audit"])
      // It has answered, and nothing of the backlog has gone out.
      #expect(try await relay.destination("upstream")["pending"]?.integer() == 2000)
      let before = upstream.record.value.requests.count
      open.change { $0 = true }
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(try await relay.flush() == 0)
      let later = upstream.record.value.requests.dropFirst(before).map { $0.headers["x-write-key"] ?? "" }
      #expect(later.suffix(10).allSatisfy { $0 == "aso_wk_new" }, "\(Set(later))")
      #expect(try await relay.stop() == 0)
    }

    @Test("another upstream gets nothing that was accepted for the last one, until that is back")
    func anotherUpstream() async throws {
      let first = try ScriptedUpstream { _ in .error(503, "server_error") }
      let second = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, settings(first, sinks: ""))
      try await relay.accept([events[0]])
      #expect(texts(try await reload(relay, settings(second, sinks: "")), "applied") == ["upstream.url"])
      let held = try await relay.destination("upstream")
      #expect(held["state"]?.string == "held" && held["detail"]?.string?.contains("--adopt") == true, "\(held)")
      first.behave { _ in .accept() }
      try await reload(relay, settings(first, sinks: ""))
      #expect(await first.hasTaken([events[0].id]))
      #expect(try await relay.flush() == 0)
      // Nothing waits: now another one may be.
      try await reload(relay, settings(second, sinks: ""))
      try await relay.accept([events[1]])
      #expect(await second.hasTaken([events[1].id]))
      #expect(first.record.value.events[events[1].id] == nil)
      #expect(second.record.value.events[events[0].id] == nil)
      #expect(try await relay.stop() == 0)
    }

    @Test("the log's level and form, the admin's token and hosts change at once; what can't is named each time")
    func rest() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, settings(upstream, sinks: ""))
      var next = settings(upstream, sinks: "", "logging: { level: debug, format: json }")
      next.adminToken = "0123456789abcdef"
      next.log = "segment_size: 4MiB, max_size: 128MiB, min_free_disk: 1MiB, durability: os"
      let answer = try await reload(relay, next)
      #expect(texts(answer, "applied") == ["admin.token", "log.max_size", "logging.level", "logging.format"])
      #expect(texts(answer, "needs_restart") == ["log.durability", "log.segment_size"])
      #expect(relay.process.errorLines.value.last { $0.contains("configuration reloaded") }?.hasPrefix("{") == true)
      #expect(try await relay.admin("GET", "/status").status == 401)
      let bearer = [("Authorization", "Bearer 0123456789abcdef")]
      let status = try await relay.admin("GET", "/status", headers: bearer)
      #expect(status.json?["log"]?["max_bytes"]?.integer() == 128 << 20)
      let again = try await relay.admin("POST", "/reload", headers: bearer)
      #expect(texts(again.json ?? .null, "applied") == [])
      #expect(texts(again.json ?? .null, "needs_restart") == ["log.durability", "log.segment_size"])
      #expect(try await relay.stop() == 0)
    }

    @Test("a removed sink's place is given up when positions.keep is over, counted and told")
    func expired() async throws {
      let upstream = try ScriptedUpstream()
      // Its receiver takes nothing, so that it is owed what came.
      let receiver = try ScriptedUpstream { _ in .error(503, "server_error") }
      let hook = "{ name: hook, type: webhook, url: \"\(receiver.url)\", linger: 10ms }"
      let relay = try await RelayProcess(directory, settings(upstream, sinks: hook))
      try await relay.accept([events[0], events[1]])
      try await reload(relay, settings(upstream, sinks: ""))
      #expect(try await relay.destination("hook")["pending"]?.integer() == 2)
      #expect(readFile(directory.file("data/positions/hook.json")) != nil)
      try await reload(relay, settings(upstream, sinks: "", "positions: { keep: 0s }"))
      #expect(readFile(directory.file("data/positions/hook.json")) == nil)
      #expect(try await relay.status()["destinations"]?.array?.map { $0["name"]?.string } == ["upstream"])
      #expect(
        try await relay.admin("GET", "/metrics").text.contains("event_relay_removed_sink_dropped_events_total 2\n"))
      let told = await relay.process.waitForLine("a removed sink's time is over")
      #expect(told?.contains("events=2") == true)
      let audit = readLines(directory.file("data/audit.ndjson"))
      #expect(audit.contains { $0.contains("drop_removed_sink") && $0.contains("\"dropped_events\":2") })
      #expect(try await relay.stop() == 0)
    }

    @Test("a webhook that changes under way sends its batch again under the same id")
    func webhook() async throws {
      let upstream = try ScriptedUpstream()
      let receiver = try ScriptedUpstream { $0.number == 1 ? .silence : .answer(204) }
      func hook(_ keys: String) -> RelaySettings {
        settings(
          upstream,
          sinks:
            "{ name: hook, type: webhook, url: \"\(receiver.url)\", linger: 10ms, retry: { initial: 20ms, max: 50ms }\(keys) }"
        )
      }
      let relay = try await RelayProcess(directory, hook(""))
      try await relay.accept([events[0]])
      #expect(await receiver.record.wait { $0.requests.count == 1 } != nil)
      try await reload(relay, hook(", headers: { X-Tenant: \"7\" }"))
      let requests = try #require(await receiver.record.wait { $0.requests.count >= 2 }).requests
      #expect(requests[0].webhookID == requests[1].webhookID && !requests[0].webhookID.isEmpty)
      #expect(requests[1].headers["x-tenant"] == "7" && requests[0].headers["x-tenant"] == nil)
      #expect(try await relay.flush() == 0)
      #expect(try await relay.destination("hook")["ledger"]?["delivered"]?.integer() == 1)
      #expect(try await relay.stop() == 0)
    }
  }
}
