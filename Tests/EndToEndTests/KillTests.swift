import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  /// `EVENT_RELAY_KILLS` kills more often than a test run has time for.
  @Suite("Killed again and again")
  struct KillTests {
    private static let kills = ProcessInfo.processInfo.environment["EVENT_RELAY_KILLS"].flatMap(Int.init) ?? 8
    private static let eventsPerKill = 1200

    @Test("every event answered with 200 is delivered or a dead letter once, and the line file has each number once")
    func nothingLostOrRepeated() async throws {
      let directory = TemporaryDirectory()
      // One event in sixteen is never taken, and one request in eight fails.
      let upstream = try ScriptedUpstream(keepsRequests: false) { request in
        switch request.number % 8 {
        case 3: return .error(503, "server_error")
        case 6: return .reset
        default:
          let bad = request.events.indices.filter { Self.isBad(RawJSON.string("event_id", of: request.events[$0])) }
          return .accept(rejected: Dictionary(uniqueKeysWithValues: bad.map { ($0, "invalid_name") }))
        }
      }
      let settings = RelaySettings(upstream: upstream, grace: "5s")
      let (senders, relay) = try await Senders.send(
        through: Self.kills, eventsPerKill: Self.eventsPerKill, in: directory, settings
      ) { relay, _ in
        try await relay.crash()
        try await expectWell(directory)
      }
      #expect(await upstream.hasTaken(senders.acceptedIDs.filter { !Self.isBad($0) }))
      #expect(try await relay.flush() == 0)
      try await check(relay, directory, upstream, senders)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      let verified = try await eventRelay("log", "verify", directory.file("data"))
      #expect(verified.exitCode == 0, "\(verified.output)\(verified.errors)")
    }

    @Test("what a full log drops through kills is counted exactly, and nobody else is missing anything")
    func dropsAreCounted() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream(keepsRequests: false)
      upstream.refuseConnections()
      let settings = RelaySettings(
        upstream: upstream, log: "segment_size: 2MiB, max_size: 8MiB, on_full: drop_oldest, min_free_disk: 1MiB",
        grace: "5s")
      // Large ones, so that few fill the log.
      let text = String(repeating: "x", count: 1000)
      let senders = Senders(
        eventCount: 6000, properties: #"{"a":"\#(text)","b":"\#(text)","c":"\#(text)","d":"\#(text)"}"#)
      var relay = try await RelayProcess(directory, settings)
      senders.relay(at: relay.ingest[0])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { try await senders.send() } }
        for end in [2000, 4000, 6000] {
          try await senders.release(end, untilAccepted: end - Int.random(in: 100..<1500))
          try await relay.crash()
          try await expectWell(directory)
          relay = try await RelayProcess(directory, settings)
          senders.relay(at: relay.ingest[0])
          try await senders.release(end, untilAccepted: end)
        }
        try await group.waitForAll()
      }
      try upstream.listenAgain()
      #expect(try await relay.flush() == 0)
      try await checkDrops(relay, directory, upstream, senders)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    private func checkDrops(
      _ relay: RelayProcess, _ directory: TemporaryDirectory, _ upstream: ScriptedUpstream, _ senders: Senders
    ) async throws {
      func ledger(_ name: String) async throws -> (accepted: Int, delivered: Int, dropped: Int) {
        let ledger = try #require(try await relay.destination(name)["ledger"])
        #expect(ledger["waiting"]?.integer() == 0 && ledger["lost"]?.integer() == 0, "\(name): \(ledger)")
        func count(_ key: String) -> Int { ledger[key]?.integer() ?? -1 }
        return (count("accepted"), count("delivered"), count("dropped"))
      }
      let (sent, raw) = (try await ledger("upstream"), try await ledger("raw"))
      #expect(sent.dropped > 0)
      #expect(sent.accepted == sent.delivered + sent.dropped)
      #expect(raw.accepted == raw.delivered + raw.dropped)
      #expect(sent.accepted == raw.accepted && sent.accepted >= senders.acceptedIDs.count)
      #expect(upstream.record.value.events.values.reduce(0) { $0 + $1.count } == sent.delivered)
      // The sink keeps up, unless the machine is so slow that the log drops of it too.
      let numbers = sinkLines(directory).map { Record($0).number }
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
      #expect((raw.delivered...raw.accepted).contains(numbers.count))
      if raw.dropped == 0 { #expect(numbers == Array(1...sent.accepted)) }
    }

    private static func isBad(_ id: String?) -> Bool { id?.hasSuffix("7") == true }

    private func check(
      _ relay: RelayProcess, _ directory: TemporaryDirectory, _ upstream: ScriptedUpstream, _ senders: Senders
    ) async throws {
      let lines = sinkLines(directory).map { Record($0) }
      #expect(lines.map(\.number) == Array(1...max(1, lines.count)), "seq has a gap, a duplicate or another order")
      #expect(Set(lines.map(\.id)) == senders.acceptedIDs)
      #expect(lines.filter { $0.event != senders.bytes[$0.id] }.isEmpty)

      let letters = sinkLines(directory, "data/dead-letters").map { Record($0) }
      let bad = lines.filter { Self.isBad($0.id) }
      #expect(letters.map(\.number).sorted() == bad.map(\.number), "each refused event is a dead letter once")
      #expect(Set(letters.map(\.id)).isSubset(of: senders.acceptedIDs))
      #expect(Set(upstream.record.value.events.keys) == senders.acceptedIDs.filter { !Self.isBad($0) })

      let ledger = try #require(try await relay.destination("upstream")["ledger"])
      #expect(ledger["accepted"]?.integer() == lines.count, "\(ledger)")
      #expect(ledger["delivered"]?.integer() == lines.count - bad.count, "\(ledger)")
      #expect(ledger["dead_lettered"]?.integer() == bad.count, "\(ledger)")
      #expect(ledger["waiting"]?.integer() == 0, "\(ledger)")
    }

    /// What a line of a file says.
    private struct Record {
      let number: Int
      let id: String
      let event: [UInt8]

      init(_ line: String) {
        let bytes = Array(line.utf8)
        number = Int(String(decoding: RawJSON.member("seq", of: bytes) ?? [], as: UTF8.self)) ?? 0
        event = RawJSON.member("event", of: bytes) ?? []
        id = RawJSON.string("event_id", of: event) ?? ""
      }
    }
  }
}
