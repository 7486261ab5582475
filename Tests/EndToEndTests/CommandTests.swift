import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("The commands")
  struct CommandTests {
    private let directory = TemporaryDirectory()

    @Test("validate says of each event what the API would say, and fails when one is refused")
    func validate() async throws {
      let good = TestEvent(0)
      let bad = TestEvent(id: "x", text: #"{"event_id":"x","name":"n","anonymous_id":"a","occurred_at":"y"}"#)
      let batch = directory.write("batch.json", String(decoding: TestEvent.batch([good, bad]), as: UTF8.self))
      let refused = try await eventRelay("validate", batch)
      #expect(refused.exitCode == 1)
      #expect(refused.output.contains("invalid_id"), "\(refused.output)")
      let lines = directory.write("lines.ndjson", "\(good.text)\n\(TestEvent(1).text)\n")
      #expect(try await eventRelay("validate", lines).exitCode == 0)
      #expect(try await eventRelay("validate", "-", input: batch).exitCode == 1)
      let missing = try await eventRelay("validate", directory.file("none"))
      #expect(missing.exitCode == 1 || missing.exitCode == 2)
      #expect(missing.errors.contains(directory.file("none")))
    }

    @Test("send posts a file's events in batches and sums up the answers")
    func send() async throws {
      let upstream = try ScriptedUpstream()
      let events = (0..<250).map { TestEvent($0) }
      let lines = directory.write("lines.ndjson", events.map(\.text).joined(separator: "\n") + "\n")
      let sent = try await eventRelay("send", "--to", upstream.url, "--key", "aso_wk_test", lines)
      #expect(sent.exitCode == 0, "\(sent.errors)")
      #expect(sent.output.contains("250"), "\(sent.output)")
      #expect(!sent.errors.contains("\r"), "a progress bar without a terminal")
      #expect(upstream.record.value.order == events.map(\.id))
      #expect(upstream.record.value.requests.allSatisfy { $0.events.count <= 100 && $0.key == "aso_wk_test" })
      upstream.refuseConnections()
      let failed = try await eventRelay("send", "--to", upstream.url, "--key", "aso_wk_test", lines)
      #expect(failed.exitCode == 1)
      #expect(failed.errors.contains(upstream.url), "\(failed.errors)")
    }

    @Test("the stand-in upstream, alone, stores what a relay sends, and fails as told")
    func standInAlone() async throws {
      let standIn = try ChildProcess(["upstream", "--listen", "127.0.0.1:0", "--fail", "503:2"])
      let line = try #require(await standIn.waitForLine("127.0.0.1:"), "\(standIn.errorText)")
      let address = try TestAddress(String(line[line.range(of: "127.0.0.1:")!.lowerBound...]))
      let relay = try await RelayProcess(directory, RelaySettings(url: "http://\(address.authority)"))
      let event = TestEvent(0)
      try await relay.accept([event])
      #expect(try await relay.flush() == 0)
      let stored = try await onThread { try TestConnection(to: address).send("GET", "/events") }
      #expect(stored.text.contains(event.id))
      let stats = try await onThread { try TestConnection(to: address).send("GET", "/stats") }
      #expect(stats.json != nil, "\(stats.text)")
      standIn.kill(15)
      #expect(await standIn.wait() == 0)
    }

    @Test("run --stand-in needs no upstream, and keeps its own data apart")
    func standIn() async throws {
      let relay = try await RelayProcess(directory, RelaySettings(), "--stand-in")
      let standIn = try #require(relay.standIn)
      let event = TestEvent(0)
      try await relay.accept([event])
      #expect(try await relay.flush() == 0)
      let stored = try await onThread { try TestConnection(to: standIn).send("GET", "/events") }
      #expect(stored.text.contains(event.id))
      #expect(try await relay.stop() == 0)
      #expect(readFile(directory.file("data-stand-in/addresses.json")) != nil)
      #expect(readFile(directory.file("data/addresses.json")) == nil)
    }

    @Test("the log can be inspected and verified offline, and damage is named")
    func log() async throws {
      let upstream = try ScriptedUpstream { _ in .error(503, "server_error") }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      try await relay.accept((0..<120).map { TestEvent($0) })
      #expect(try await relay.stop() == 0)
      let data = directory.file("data")
      let inspected = try await eventRelay("log", "inspect", data)
      #expect(inspected.exitCode == 0, "\(inspected.errors)")
      let verified = try await eventRelay("log", "verify", data)
      #expect(verified.exitCode == 0, "\(verified.output)\(verified.errors)")
      let missing = try await eventRelay("log", "verify", directory.file("none"))
      #expect(missing.exitCode != 0)
      #expect(missing.errors.contains(directory.file("none")))
    }
  }
}
