import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  /// `EVENT_RELAY_SINK_EVENTS` takes more events than a test run has time for.
  @Suite("Three sinks")
  struct ThreeSinksTests {
    private static let eventCount =
      ProcessInfo.processInfo.environment["EVENT_RELAY_SINK_EVENTS"].flatMap(Int.init) ?? 20_000
    private static let kills = 20

    private let directory = TemporaryDirectory()

    private func settings(_ upstream: ScriptedUpstream, hook: String) -> RelaySettings {
      var settings = RelaySettings(upstream: upstream, log: "segment_size: 4MiB, min_free_disk: 1MiB", hasSink: false)
      settings.grace = "10s"
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./raw/%app/%H.ndjson, rotate: { size: 1MiB } }
          - { name: audit, type: archive, path: ./archive, rotate: { size: 256KiB } }
          - { name: hook, type: webhook, url: "\(hook)", linger: 20ms, timeout: 300ms, retry: { initial: 20ms, max: 100ms } }
        """
      return settings
    }

    @Test(
      "have every accepted event, through an upstream that is down half the time, a webhook that hangs, and 20 kill -9")
    func nothingIsMissing() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let taken = Fact<Set<String>>([])
      let receiver = try ScriptedUpstream(keepsRequests: false) { request in
        guard request.number % 15 != 7 else { return .silence }
        taken.change { $0.formUnion(request.eventIDs) }
        return .answer(204)
      }
      let settings = settings(upstream, hook: receiver.url)
      let senders = Senders(eventCount: Self.eventCount, properties: nil)
      var relay = try await RelayProcess(directory, settings)
      senders.relay(at: relay.ingest[0])
      let share = Self.eventCount / Self.kills
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { try await senders.send() } }
        for kill in 0..<Self.kills {
          // Down in every other round.
          if kill.isMultiple(of: 2) {
            upstream.behave { _ in .error(503, "server_error") }
          } else {
            upstream.behave { _ in .accept() }
          }
          let end = kill == Self.kills - 1 ? Self.eventCount : (kill + 1) * share
          try await senders.release(end, untilAccepted: kill * share + Int.random(in: 1..<max(2, share - 400)))
          try await relay.crash()
          relay = try await RelayProcess(directory, settings)
          senders.relay(at: relay.ingest[0])
          try await senders.release(end, untilAccepted: end)
        }
        try await group.waitForAll()
      }
      upstream.behave { _ in .accept() }
      let accepted = senders.acceptedIDs
      #expect(accepted.count == Self.eventCount)
      #expect(await upstream.hasTaken(accepted))
      try await lookAgain { try await relay.flush() > 0 }
      #expect(await taken.wait(within: .seconds(300)) { $0.count >= accepted.count } == accepted)
      try await checkBooks(relay)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      try await checkFiles(senders)
    }

    /// Everything that came in is delivered by each destination, and nothing is anything else.
    private func checkBooks(_ relay: RelayProcess) async throws {
      let stored: Int? = try await relay.destination("upstream")["ledger"]?["accepted"]?.integer()
      for name in ["upstream", "raw", "audit", "hook"] {
        var ledger = try await relay.destination(name)["ledger"]
        try await lookAgain {
          ledger = try await relay.destination(name)["ledger"]
          return ledger?["waiting"]?.integer() != 0
        }
        #expect(ledger?["accepted"]?.integer() == stored, "\(name)")
        #expect(ledger?["delivered"]?.integer() == stored, "\(name)")
      }
    }

    /// The files hold every event as it came; each number once, without a gap.
    private func checkFiles(_ senders: Senders) async throws {
      let verified = try await eventRelay("archive", "verify", directory.file("archive"))
      #expect(verified.exitCode == 0, "\(verified.output)\(verified.errors)")
      let archived = try await eventRelay("archive", "cat", directory.file("archive"))
      #expect(archived.exitCode == 0, "\(archived.errors)")
      let lines = archived.output.split(separator: "\n").map { Array($0.utf8) }
      #expect(
        lines.map(number) == Array(1...max(1, lines.count)), "the archive has a gap, a duplicate or another order")
      check(lines, senders, "archive")
      let raw = sinkLines(directory, "raw").map { Array($0.utf8) }
      #expect(raw.map(number).sorted() == Array(1...max(1, lines.count)), "the line files have a gap or a duplicate")
      check(raw, senders, "raw")
    }

    private func number(_ line: [UInt8]) -> Int {
      Int(String(decoding: RawJSON.member("seq", of: line) ?? [], as: UTF8.self)) ?? 0
    }

    private func check(_ lines: [[UInt8]], _ senders: Senders, _ place: String) {
      var ids: Set<String> = []
      var changed = 0
      for line in lines {
        let event = RawJSON.member("event", of: line) ?? []
        let id = RawJSON.string("event_id", of: event) ?? ""
        ids.insert(id)
        if event != senders.bytes[id] { changed += 1 }
      }
      #expect(ids == senders.acceptedIDs, "\(place)")
      #expect(changed == 0, "\(place): lines whose event has other bytes than were sent")
    }
  }
}
