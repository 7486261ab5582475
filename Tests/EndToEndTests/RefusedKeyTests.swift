import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A key that the upstream refuses")
  struct RefusedKeyTests {
    private let directory = TemporaryDirectory()
    private let events = (0..<6).map { TestEvent($0) }

    private func settings(_ upstream: ScriptedUpstream, key: String, _ further: String = "") -> RelaySettings {
      RelaySettings(
        upstream: upstream, apps: "apps: [{ name: ios, write_key: \(key), accept_keys: [local], default: true }]",
        hasSink: false, further: further)
    }

    @Test("holds what waits after three batches, over a restart; a reload with another key sends it at once")
    func reload() async throws {
      let upstream = try ScriptedUpstream { $0.key == "aso_wk_right" ? .accept() : .error(401, "invalid_write_key") }
      let wrong = settings(upstream, key: "aso_wk_wrong")
      let first = try await RelayProcess(directory, wrong)
      for number in 0..<3 {
        try await first.accept([events[number]], key: "local")
        #expect(try await first.flush() == 0)
      }
      try await first.accept([events[3], events[4]], key: "local")
      // They are a probe at once, which is put back; what is held isn't waited for.
      #expect(try await first.flush() == 2)
      #expect(try await first.stop() == 0)

      let relay = try await RelayProcess(directory, wrong)
      try await relay.accept([events[5]], key: "local")
      // (It takes up what it knows of its lanes a moment after it is ready.)
      try await lookAgain { try await relay.destination("upstream")["state"] != "refused" }
      let status = try await relay.destination("upstream")
      #expect(status["state"] == "refused" && status["pending"]?.integer() == 3, "\(status)")
      #expect(status["detail"]?.string?.hasPrefix("Key refused (401 invalid_write_key") == true, "\(status)")
      #expect(status["ledger"]?["dead_letter_reasons"]?["refused"]?.integer() == 3, "\(status)")
      #expect(status["clamping_begins_at"]?.string != nil)
      let health = try await relay.admin("GET", "/healthz")
      #expect(health.status == 200 && health.text.contains("Key refused"), "\(health.text)")
      #expect(upstream.record.value.requests.count == 4)

      try await relay.reload(settings(upstream, key: "aso_wk_right"), in: directory)
      #expect(await upstream.hasTaken(events[3...].map(\.id)))
      #expect(try await relay.flush() == 0)
      #expect(try await relay.destination("upstream")["state"] == "running")
      #expect(upstream.record.value.requests.dropFirst(4).allSatisfy { $0.key == "aso_wk_right" })
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }
  }
}
