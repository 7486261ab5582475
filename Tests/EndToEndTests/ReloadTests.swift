import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A reload")
  struct ReloadTests {
    private let directory = TemporaryDirectory()
    private let events = (0..<10).map { TestEvent($0) }

    @Test("a sink's path, rotation and filter take effect, and no event is lost or doubled by it")
    func changed() async throws {
      let upstream = try ScriptedUpstream()
      func sink(_ keys: String) -> RelaySettings {
        RelaySettings(upstream, sinks: "{ name: raw, type: ndjson, \(keys) }")
      }
      let relay = try await RelayProcess(directory, sink("path: ./events/%Y.ndjson"))
      let events = self.events
      try await relay.accept([events[0]])
      // Not waited for: what is under way when the sink changes is settled by it, or taken up by the next.
      try await relay.reload(sink("path: ./other/%Y.ndjson"), in: directory)
      try await relay.accept([events[1]])
      try await relay.reload(sink("path: ./other/%Y.ndjson, rotate: { size: 1KiB }"), in: directory)
      try await relay.accept([events[2]])
      try await relay.reload(sink("path: ./other/%Y.ndjson, only: { kinds: [identify] }"), in: directory)
      try await relay.accept([events[3]])
      #expect(try await relay.flush() == 0)
      try await relay.reload(sink("path: ./other/%Y.ndjson"), in: directory)
      try await relay.accept([events[4]])
      #expect(try await relay.flush() == 0)
      let ledger = try await relay.destination("raw")["ledger"]
      #expect(ledger?["delivered"]?.integer() == 4 && ledger?["filtered"]?.integer() == 1, "\(ledger ?? .null)")
      #expect(try await relay.stop() == 0)
      let written = eventIDs(sinkLines(directory) + sinkLines(directory, "other"))
      #expect(written.sorted() == [0, 1, 2, 4].map { events[$0].id }.sorted())
      #expect(eventIDs(sinkLines(directory)).allSatisfy { $0 == events[0].id })
    }

    @Test("two sinks that change their paths with each other get each their own")
    func swapped() async throws {
      let upstream = try ScriptedUpstream()
      func pair(_ one: String, _ other: String) -> RelaySettings {
        RelaySettings(
          upstream,
          sinks: "{ name: a, type: ndjson, path: ./events/\(one).ndjson }, { name: b, type: ndjson, path: "
            + "./events/\(other).ndjson, only: { apps: [none] } }")
      }
      let relay = try await RelayProcess(directory, pair("x", "y"))
      try await relay.accept([events[0]])
      #expect(try await relay.reload(pair("y", "x"), in: directory).texts("applied") == ["sinks.a", "sinks.b"])
      try await relay.accept([events[1]])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(eventIDs(sinkLines(directory)).sorted() == [events[0].id, events[1].id].sorted())
    }

    @Test("senders' connections stay open through ten of them, while sinks come and go")
    func connections() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream, sinks: RelaySettings.raw))
      let address = relay.ingest[0]
      let connection = try await onThread { try TestConnection(to: address) }
      for i in 0..<10 {
        let answer = try await onThread {
          try connection.send(
            "POST", "/v1/events", headers: [("Content-Type", "application/json"), ("X-Write-Key", "aso_wk_test")],
            body: TestEvent.batch([events[i]]))
        }
        #expect(answer.status == 200)
        let sinks = i % 2 == 0 ? "\(RelaySettings.raw), \(RelaySettings.audit)" : RelaySettings.raw
        var next = RelaySettings(upstream, sinks: sinks, "logging: { level: \(i % 2 == 0 ? "debug" : "info") }")
        next.linger = "\(20 + i)ms"
        try await relay.reload(next, in: directory)
      }
      #expect(try await relay.flush() == 0)
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(try await relay.stop() == 0)
      #expect(eventIDs(sinkLines(directory)) == events.map(\.id))
    }

    @Test("while senders post without a pause, sinks that change, go and come back have each event exactly once")
    func underLoad() async throws {
      let upstream = try ScriptedUpstream()
      func sinks(_ raw: String, _ audit: String) -> RelaySettings {
        RelaySettings(
          upstream,
          sinks: "{ name: raw, type: ndjson, path: ./events/\(raw)/%Y.ndjson }, \(audit)")
      }
      let relay = try await RelayProcess(directory, sinks("0", RelaySettings.audit))
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
        try await relay.reload(sinks("\(turn % 3)", turn % 2 == 0 ? RelaySettings.audit : ""), in: directory)
      }
      try await sending.value
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(senders.acceptedIDs.count == 6000)
      #expect(eventIDs(sinkLines(directory)).sorted() == senders.acceptedIDs.sorted())
      #expect(try await archivedIDs(directory).sorted() == senders.acceptedIDs.sorted())
      #expect(await upstream.hasTaken(senders.acceptedIDs))
    }

    @Test("signals that overlap settle on the last file; the metric says how the last one went")
    func overlapping() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream, sinks: RelaySettings.raw))
      for i in 0..<20 {
        _ = RelaySettings(upstream, sinks: i % 2 == 0 ? "" : "\(RelaySettings.raw), \(RelaySettings.audit)").write(
          in: directory)
        relay.process.kill(SIGHUP)
      }
      // It is one of those that waited, or comes after them.
      let last = RelaySettings(upstream, sinks: RelaySettings.audit)
      try await relay.reload(last, in: directory)
      let names = try await relay.status()["destinations"]?.array?.filter { $0["type"]?.string != "removed" }
        .compactMap { $0["name"]?.string }
      #expect(names == ["upstream", "audit"])
      #expect(try await relay.admin("GET", "/metrics").text.contains("event_relay_config_last_reload_success 1\n"))
      try await relay.accept([events[0]])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(try await archivedIDs(directory) == [events[0].id])
    }

    @Test("a bad file changes nothing and says why, and so does a sink's place that can't be used")
    func bad() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream, sinks: RelaySettings.raw))
      var typo = RelaySettings(upstream, sinks: RelaySettings.audit)
      typo.log += ", max_sice: 1GiB"
      let answer = try await relay.reload(typo, in: directory, status: 422)
      #expect(answer.texts("faults").contains { $0.contains("max_sice") && $0.contains("max_size") })
      #expect(try await relay.admin("GET", "/metrics").text.contains("event_relay_config_last_reload_success 0\n"))
      _ = directory.write("blocked", "")
      let blocked = RelaySettings(
        upstream, sinks: "\(RelaySettings.audit), { name: raw, type: ndjson, path: ./blocked/%Y.ndjson }",
        "logging: { level: error }")
      let refusal = try await relay.reload(blocked, in: directory, status: 422)
      #expect(
        refusal.texts("faults").contains { $0.contains("sinks[1].path: ") && $0.contains("blocked is no directory") })
      let names = try await relay.status()["destinations"]?.array?.compactMap { $0["name"]?.string }
      #expect(names == ["upstream", "raw"])
      try await relay.accept([events[0]])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(eventIDs(sinkLines(directory)) == [events[0].id])
      #expect(relay.process.errorText.contains("stopped"))
    }

    @Test("takes no longer for an upstream that hangs and a backlog; what waits goes out under the new key")
    func hanging() async throws {
      let open = Fact(false)
      let upstream = try ScriptedUpstream { _ in open.value ? .accept() : .silence }
      var first = RelaySettings(upstream, sinks: RelaySettings.raw)
      first.keys = "listed"
      first.apps = "apps: [{ name: ios, write_key: aso_wk_old }]"
      // Longer than the test: a reload that waited for it would not come back.
      first.timeout = "10m"
      let relay = try await RelayProcess(directory, first)
      let events = (0..<2000).map { TestEvent($0) }
      try await relay.accept(events, key: "aso_wk_old")
      #expect(await upstream.record.wait { !$0.requests.isEmpty } != nil)
      var second = first
      second.apps = "apps: [{ name: ios, write_key: aso_wk_new, accept_keys: [aso_wk_old] }]"
      second.further = "sinks: [\(RelaySettings.audit)]"
      #expect(try await relay.reload(second, in: directory).texts("applied") == ["apps", "sinks.raw", "sinks.audit"])
      // It has answered, and nothing of the backlog has gone out.
      #expect(try await relay.destination("upstream")["pending"]?.integer() == 2000)
      // One request hangs: it has events of every install, so that no other could begin under the old key.
      #expect(upstream.record.value.requests.map(\.key) == ["aso_wk_old"])
      open.change { $0 = true }
      upstream.refuseConnections()
      try upstream.listenAgain()
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(try await relay.flush() == 0)
      let later = upstream.record.value.requests.dropFirst().map(\.key)
      #expect(!later.isEmpty && later.allSatisfy { $0 == "aso_wk_new" }, "\(Set(later))")
      #expect(try await relay.stop() == 0)
    }

    @Test("another upstream gets nothing that was accepted for the last one, until that is back")
    func anotherUpstream() async throws {
      let first = try ScriptedUpstream { _ in .error(503, "server_error") }
      let second = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(first, sinks: ""))
      try await relay.accept([events[0]])
      #expect(
        (try await relay.reload(RelaySettings(second, sinks: ""), in: directory)).texts("applied") == ["upstream.url"])
      let held = try await relay.destination("upstream")
      #expect(held["state"]?.string == "held" && held["detail"]?.string?.contains("--adopt") == true, "\(held)")
      first.behave { _ in .accept() }
      try await relay.reload(RelaySettings(first, sinks: ""), in: directory)
      #expect(await first.hasTaken([events[0].id]))
      #expect(try await relay.flush() == 0)
      // Nothing waits: now another one may be.
      try await relay.reload(RelaySettings(second, sinks: ""), in: directory)
      try await relay.accept([events[1]])
      #expect(await second.hasTaken([events[1].id]))
      #expect(first.record.value.events[events[1].id] == nil)
      #expect(second.record.value.events[events[0].id] == nil)
      #expect(try await relay.stop() == 0)
    }

    @Test("the log's level and form, the admin's token and hosts change at once; what can't is named each time")
    func rest() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream, sinks: ""))
      #expect(try await relay.admin("GET", "/livez", host: "relay.example").status == 403)
      var next = RelaySettings(upstream, sinks: "", "logging: { level: debug, format: json }")
      next.adminToken = "0123456789abcdef"
      next.adminHosts = "relay.example"
      next.log = "segment_size: 4MiB, max_size: 128MiB, min_free_disk: 1MiB, durability: os"
      let answer = try await relay.reload(next, in: directory)
      #expect(
        answer.texts("applied") == ["admin.token", "admin.hosts", "log.max_size", "logging.level", "logging.format"])
      #expect(answer.texts("needs_restart") == ["log.durability", "log.segment_size"])
      #expect(relay.process.errorLines.value.last { $0.contains("configuration reloaded") }?.hasPrefix("{") == true)
      #expect(try await relay.admin("GET", "/status").status == 401)
      #expect(try await relay.admin("GET", "/livez", host: "relay.example").status == 200)
      #expect(try await relay.admin("GET", "/livez", host: "other.example").status == 403)
      let bearer = [("Authorization", "Bearer 0123456789abcdef")]
      let status = try await relay.admin("GET", "/status", headers: bearer)
      #expect(status.json?["log"]?["max_bytes"]?.integer() == 128 << 20)
      let again = try await relay.admin("POST", "/reload", headers: bearer)
      #expect((again.json ?? .null).texts("applied") == [])
      #expect((again.json ?? .null).texts("needs_restart") == ["log.durability", "log.segment_size"])
      #expect(try await relay.stop() == 0)
    }

    @Test("a webhook that changes under way sends its batch again under the same id")
    func webhook() async throws {
      let upstream = try ScriptedUpstream()
      let receiver = try ScriptedUpstream { $0.number == 1 ? .silence : .answer(204) }
      func hook(_ keys: String) -> RelaySettings {
        RelaySettings(
          upstream,
          sinks:
            "{ name: hook, type: webhook, url: \"\(receiver.url)\", linger: 10ms, retry: { initial: 20ms, max: 50ms }\(keys) }"
        )
      }
      let relay = try await RelayProcess(directory, hook(""))
      try await relay.accept([events[0]])
      #expect(await receiver.record.wait { $0.requests.count == 1 } != nil)
      try await relay.reload(hook(", headers: { X-Tenant: \"7\" }"), in: directory)
      let requests = try #require(await receiver.record.wait { $0.requests.count >= 2 }).requests
      #expect(requests[0].webhookID == requests[1].webhookID && !requests[0].webhookID.isEmpty)
      #expect(requests[1].headers["x-tenant"] == "7" && requests[0].headers["x-tenant"] == nil)
      #expect(try await relay.flush() == 0)
      #expect(try await relay.destination("hook")["ledger"]?["delivered"]?.integer() == 1)
      #expect(try await relay.stop() == 0)
    }
  }
}
