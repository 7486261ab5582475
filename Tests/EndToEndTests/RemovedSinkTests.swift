import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Sinks that are removed")
  struct RemovedSinkTests {
    private let directory = TemporaryDirectory()
    private let events = (0..<6).map { TestEvent($0) }

    private func settings(_ upstream: ScriptedUpstream, sinks: String, _ further: String = "") -> RelaySettings {
      var settings = RelaySettings(upstream, sinks: sinks, further)
      settings.log = "segment_size: 2MiB, max_size: 8MiB, min_free_disk: 1MiB"
      return settings
    }

    /// Events of seven kilobytes, delivered upstream.
    @discardableResult
    private func deliver(
      _ relay: RelayProcess, _ numbers: Range<Int>, flushes: Bool = true
    ) async throws -> [TestEvent] {
      let text = String(repeating: "x", count: 1000)
      let padding = "{" + (0..<7).map { #""text\#($0)":"\#(text)""# }.joined(separator: ",") + "}"
      let events = numbers.map { TestEvent($0, properties: padding) }
      for start in stride(from: 0, to: events.count, by: 100) {
        try await relay.accept(Array(events[start..<min(start + 100, events.count)]))
      }
      // (A flush waits for every sink.)
      if flushes { #expect(try await relay.flush() == 0) }
      return events
    }

    private func count(_ ledger: JSONValue?, _ column: String) -> Int { ledger?[column]?.integer() ?? -1 }

    private var lines: [JSONValue] { sinkLines(directory).compactMap { try? JSONValue(parsing: $0) } }

    @Test("come back where they were: each event is in each exactly once, from when the sink was there")
    func comeAndGo() async throws {
      let upstream = try ScriptedUpstream()
      let both = settings(upstream, sinks: "\(RelaySettings.raw), \(RelaySettings.audit)")
      let relay = try await RelayProcess(directory, settings(upstream, sinks: ""))
      let events = self.events
      try await relay.accept([events[0]])
      #expect(try await relay.reload(both, in: directory).texts("applied") == ["sinks.raw", "sinks.audit"])
      try await relay.accept([events[1]])
      #expect(try await relay.flush() == 0)
      // They go, with an event that comes meanwhile: their places are kept.
      #expect(
        (try await relay.reload(settings(upstream, sinks: ""), in: directory)).texts("applied") == [
          "sinks.raw", "sinks.audit",
        ])
      #expect(eventIDs(sinkLines(directory)) == [events[1].id])
      #expect(try await archivedIDs(directory) == [events[1].id])
      try await relay.accept([events[2]])
      for name in ["raw", "audit"] {
        let status = try await relay.destination(name)
        #expect(status["type"]?.string == "removed" && status["state"]?.string == "stopped", "\(status)")
        #expect(status["pending"]?.integer() == 1)
        #expect(status["detail"]?.string?.contains("its place is kept until") == true)
      }
      // One comes back in the same life, the other in the next.
      try await relay.reload(settings(upstream, sinks: RelaySettings.raw), in: directory)
      try await relay.accept([events[3]])
      #expect(try await relay.stop() == 0)
      let next = try await RelayProcess(directory, settings(upstream, sinks: RelaySettings.raw))
      #expect(next.process.errorText.contains("a sink is no longer configured"))
      try await next.accept([events[4]])
      try await next.reload(both, in: directory)
      try await next.accept([events[5]])
      #expect(try await next.flush() == 0)
      #expect(try await next.stop() == 0)
      #expect(eventIDs(sinkLines(directory)) == events[1...5].map(\.id))
      #expect(try await archivedIDs(directory) == events[1...5].map(\.id))
      let verify = try await eventRelay("archive", "verify", directory.file("archive"))
      #expect(verify.exitCode == 0, "\(verify.output)\(verify.errors)")
    }

    @Test("hold nothing of what comes after, so that more than the log's size goes by; what goes is in their books")
    func holdNothing() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let both = settings(upstream, sinks: RelaySettings.raw)
      var relay = try await RelayProcess(directory, both)
      try await deliver(relay, 0..<100)
      try await relay.reload(settings(upstream, sinks: ""), in: directory)
      try await deliver(relay, 100..<1000)
      let status = try await relay.destination("raw")
      #expect(status["held_bytes"]?.integer() == 0 && count(status["ledger"], "delivered") == 100, "\(status)")
      #expect(count(status["ledger"]?["dropped_reasons"], "removed") > 500)
      #expect(try await relay.status()["log"]?["dropped_events"]?.integer() == 0)
      try await expectWell(directory)
      try await relay.crash()

      // The same in the next life, which finds it gone.
      relay = try await RelayProcess(directory, settings(upstream, sinks: ""))
      try await deliver(relay, 1000..<2000)
      try await expectWell(directory)
      try await relay.reload(both, in: directory)
      try await deliver(relay, 2000..<2010)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      let ledger = try await eventRelay("status", "--json", "--config", directory.file("relay.yaml"))
      let books = try JSONValue(parsing: ledger.output)["ledger"]?["raw"]
      let numbers = lines.compactMap { $0["seq"]?.integer(as: Int.self) }
      #expect(Set(numbers).count == numbers.count && numbers == numbers.sorted() && numbers.last == 2010)
      #expect(count(books, "accepted") == 2010 && count(books, "delivered") == numbers.count)
      #expect(count(books, "dropped") == 2010 - numbers.count && count(books, "lost") == 0)
      #expect(count(books?["dropped_reasons"], "removed") == count(books, "dropped"))
    }

    @Test("keep what they were owed through all that, and have it when they are back")
    func keepOwed() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let open = Fact(false)
      let receiver = try ScriptedUpstream { _ in open.value ? .answer(204) : .error(503, "server_error") }
      let hook =
        "{ name: hook, type: webhook, url: \"\(receiver.url)\", linger: 10ms, retry: { initial: 20ms, max: 50ms } }"
      let relay = try await RelayProcess(directory, settings(upstream, sinks: hook))
      let owed = try await deliver(relay, 0..<50, flushes: false)
      try await relay.reload(settings(upstream, sinks: ""), in: directory)
      try await deliver(relay, 50..<1000)
      let held: Int? = try await relay.destination("hook")["held_bytes"]?.integer()
      #expect((1...2_100_000).contains(held ?? 0), "\(String(describing: held))")
      open.change { $0 = true }
      try await relay.reload(settings(upstream, sinks: hook), in: directory)
      #expect(try await relay.flush() == 0)
      let taken = receiver.record.value.requests.last { request in
        owed.allSatisfy { String(decoding: request.body, as: UTF8.self).contains($0.id) }
      }
      #expect(taken != nil)
      let ledger = try await relay.destination("hook")["ledger"]
      #expect(count(ledger, "delivered") + count(ledger, "dropped") == 1000 && count(ledger, "waiting") == 0)
      #expect(count(ledger, "delivered") >= 50 && count(ledger, "dropped") > 0)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("are given up when positions.keep is over, counted and told")
    func expired() async throws {
      let upstream = try ScriptedUpstream()
      // Its receiver takes nothing, so that it is owed what came.
      let receiver = try ScriptedUpstream { _ in .error(503, "server_error") }
      let hook = "{ name: hook, type: webhook, url: \"\(receiver.url)\", linger: 10ms }"
      let relay = try await RelayProcess(directory, settings(upstream, sinks: hook))
      try await relay.accept([events[0], events[1]])
      try await relay.reload(settings(upstream, sinks: ""), in: directory)
      #expect(try await relay.destination("hook")["pending"]?.integer() == 2)
      #expect(readFile(directory.file("data/positions/hook.json")) != nil)
      try await relay.reload(settings(upstream, sinks: "", "positions: { keep: 0s }"), in: directory)
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

    @Test("that are given up leave their last books, and begin anew when they are put back")
    func givenUp() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let receiver = try ScriptedUpstream { _ in .error(503, "server_error") }
      let hook = "{ name: hook, type: webhook, url: \"\(receiver.url)\", linger: 10ms }"
      var relay = try await RelayProcess(directory, settings(upstream, sinks: hook))
      try await deliver(relay, 0..<7, flushes: false)
      try await relay.reload(settings(upstream, sinks: ""), in: directory)
      try await relay.reload(settings(upstream, sinks: "", "positions: { keep: 0s }"), in: directory)
      let books = try await relay.status()["removed_sinks"]
      #expect(count(books, "dropped_events") == 7)
      let last = books?["given_up"]?.array?.first
      #expect(last?["name"]?.string == "hook" && count(last?["ledger"], "dropped") == 7, "\(String(describing: last))")
      #expect(count(last?["ledger"], "accepted") == 7 && count(last?["ledger"], "waiting") == 0)
      try await relay.crash()
      relay = try await RelayProcess(directory, settings(upstream, sinks: hook))
      #expect(count(try await relay.destination("hook")["ledger"], "accepted") == 0)
      #expect(count(try await relay.status()["removed_sinks"], "dropped_events") == 7)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }
  }
}
