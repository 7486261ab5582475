import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("What is taken in")
  struct DrainTests {
    private let directory = TemporaryDirectory()

    @Test("a drained relay takes nothing in, sends what waits, and says when that is all")
    func drains() async throws {
      let upstream = try ScriptedUpstream()
      upstream.refuseConnections()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, linger: "10m"))
      let file = directory.file("relay.yaml")
      let events = (0..<250).map { TestEvent($0) }
      try await relay.accept(events)
      let first = try await eventRelay("drain", "--config", file, "--timeout", "300ms")
      #expect(first.exitCode == 1)
      #expect(first.output == "250 still waiting: 250 for upstream\n", "\(first.output)\(first.errors)")
      #expect(!first.errors.contains("\r"), "progress without a terminal")
      let refused = try await relay.post(TestEvent.batch([TestEvent(1000)]))
      #expect(refused.status == 503 && refused.json?["code"]?.string == "server_error")
      #expect(refused.text.contains("drained"))
      let readiness = try await relay.admin("GET", "/readyz")
      #expect(readiness.status == 503 && readiness.text.contains("the relay is drained"), "\(readiness.text)")
      #expect(try await relay.admin("GET", "/livez").status == 200)
      #expect(try await relay.status()["ingest"]?["draining"]?.bool == true)

      try upstream.listenAgain()
      let second = try await eventRelay("drain", "--config", file, "--timeout", "1m")
      #expect(second.exitCode == 0 && second.output == "nothing waits any more\n", "\(second.output)\(second.errors)")
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(sinkLines(directory).count == 250)

      #expect(try await eventRelay("drain", "--stop", "--config", file).exitCode == 0)
      #expect(try await relay.admin("GET", "/readyz").status == 200)
      try await relay.accept([TestEvent(1000)])
      let actions = readLines(directory.file("data/audit.ndjson")).compactMap {
        (try? JSONValue(parsing: $0))?["action"]?.string
      }
      #expect(actions == ["drain", "drain_stop"])
      #expect(try await relay.admin("POST", "/drain?timeout=1h").status == 400)
      #expect(try await relay.stop() == 0)
    }

    @Test("an app over its limit is told when there is room, others are let in, and a reload lifts the limit")
    func limited() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(
        directory, RelaySettings(upstream: upstream, intake: ", max_events_per_minute: 150"))
      let events = (0..<400).map { TestEvent($0) }
      try await relay.accept(Array(events[..<150]))
      let refused = try await relay.post(TestEvent.batch([events[150]]))
      #expect(refused.status == 429 && refused.json?["code"]?.string == "rate_limited")
      let wait = Int(refused.headers["retry-after"] ?? "") ?? 0
      #expect((1...61).contains(wait))
      try await relay.accept(Array(events[150..<200]), key: "aso_wk_other")
      _ = RelaySettings(upstream: upstream).write(in: directory)
      let reload = try await relay.admin("POST", "/reload")
      #expect(
        reload.json?["applied"]?.array?.compactMap(\.string) == ["ingest.max_events_per_minute"], "\(reload.text)")
      #expect(reload.json?["needs_restart"]?.array?.isEmpty == true, "\(reload.text)")
      try await relay.accept(Array(events[200...]))
      #expect(try await relay.flush() == 0)
      #expect(sinkLines(directory).count == 400)
      #expect(try await relay.stop() == 0)
    }
  }
}
