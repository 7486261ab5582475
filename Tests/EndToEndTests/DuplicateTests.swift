import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// `EVENT_RELAY_KILLS` kills more often than a test run has time for.
  @Suite("Repeated events")
  struct DuplicateTests {
    private static let kills = ProcessInfo.processInfo.environment["EVENT_RELAY_KILLS"].flatMap(Int.init) ?? 6
    private static let eventsPerKill = 1000
    private static let dedupe = ", dedupe: { window: 1h }"

    private let directory = TemporaryDirectory()

    @Test("an event answered with 200 is stored exactly once, through kills and stops with requests under way")
    func exactlyOnce() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let settings = RelaySettings(upstream: upstream, intake: Self.dedupe, grace: "5s")
      let (senders, relay) = try await Senders.send(
        through: Self.kills, eventsPerKill: Self.eventsPerKill, in: directory, settings
      ) { relay, kill in
        if kill % 3 == 2 { #expect(try await relay.stop() == 0) } else { try await relay.crash() }
      }
      // Everything once more, as one who never saw an answer.
      let events = senders.bytes.map { TestEvent(id: $0.key, text: String(decoding: $0.value, as: UTF8.self)) }
      try await relay.accept(events)
      #expect(try await relay.flush() == 0)
      let ids = lines()
      #expect(ids.count == Set(ids).count, "\(ids.count - Set(ids).count) events are stored twice")
      #expect(Set(ids) == senders.acceptedIDs)
      #expect(Set(upstream.record.value.events.keys) == senders.acceptedIDs)
      let accepted: Int? = try await relay.destination("upstream")["ledger"]?["accepted"]?.integer()
      #expect(accepted == ids.count)
      let page = try await relay.admin("GET", "/metrics").text
      #expect(page.contains(#"event_relay_ingest_events_total{app="other",outcome="duplicate"} \#(events.count)"#))
      #expect(try await relay.stop() == 0)
    }

    @Test("an event that went to the dead letters can be sent again corrected, after a kill too")
    func corrected() async throws {
      let upstream = try ScriptedUpstream { request in
        let bad = request.events.indices.filter { RawJSON.string("name", of: request.events[$0]) == "bad" }
        return .accept(rejected: Dictionary(uniqueKeysWithValues: bad.map { ($0, "invalid_name") }))
      }
      let settings = RelaySettings(upstream: upstream, intake: Self.dedupe)
      var relay = try await RelayProcess(directory, settings)
      let bad = TestEvent(0, name: "bad")
      let other = TestEvent(1)
      let corrected = TestEvent(
        id: bad.id,
        text:
          #"{"event_id":"\#(bad.id)","name":"good","anonymous_id":"a","occurred_at":"\#(TestEvent.now)"}"#)
      try await relay.accept([bad, other])
      #expect(try await relay.flush() == 0)
      #expect(sinkLines(directory, "data/dead-letters").count == 1)
      try await relay.crash()
      relay = try await RelayProcess(directory, settings)
      try await relay.accept([corrected, other])
      try await relay.accept([corrected, other])
      #expect(try await relay.flush() == 0)
      #expect(upstream.record.value.events[bad.id] == [corrected.bytes])
      #expect(lines() == [bad.id, other.id, bad.id])
      #expect(try await relay.stop() == 0)
    }

    @Test("switched off, nothing is remembered and nothing holds the log")
    func switchedOff() async throws {
      let upstream = try ScriptedUpstream()
      let event = TestEvent(0)
      for (intake, count) in [(Self.dedupe, 1), ("", 2), (Self.dedupe, 3)] {
        let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, intake: intake))
        try await relay.accept([event])
        let names: [String]? = try await relay.status()["destinations"]?.array?.compactMap { $0["name"]?.string }
        #expect(names == ["upstream", "raw"])
        #expect(try await relay.flush() == 0)
        #expect(try await relay.stop() == 0)
        #expect(lines().count == count)
        let place = FileManager.default.fileExists(atPath: directory.file("data/positions/dedupe.json"))
        #expect(place == !intake.isEmpty)
        let offline = try await eventRelay("status", "--json", "--config", directory.file("relay.yaml"))
        #expect(!offline.output.contains(#""dedupe""#), "\(offline.output)")
      }
    }

    @Test("a reload changes the window: a longer one remembers over a kill what a shorter one would have forgotten")
    func longer() async throws {
      let upstream = try ScriptedUpstream()
      let event = TestEvent(0)
      var relay = try await RelayProcess(
        directory, RelaySettings(upstream: upstream, intake: ", dedupe: { window: 1s }"))
      let settings = RelaySettings(upstream: upstream, intake: Self.dedupe)
      #expect(try await relay.reload(settings, in: directory).texts("applied") == ["ingest.dedupe.window"])
      try await relay.accept([event])
      let posted = ContinuousClock.now
      #expect(try await relay.flush() == 0)
      try await relay.crash()
      relay = try await RelayProcess(directory, settings)
      // (Whatever is posted meanwhile, the first second goes by.)
      while .now - posted < .milliseconds(1100) { try await relay.accept([event]) }
      try await relay.accept([event])
      #expect(lines() == [event.id])
      #expect(try await relay.stop() == 0)
    }

    private func lines() -> [String] {
      sinkLines(directory).map {
        RawJSON.string("event_id", of: RawJSON.member("event", of: Array($0.utf8)) ?? []) ?? ""
      }
    }
  }
}
