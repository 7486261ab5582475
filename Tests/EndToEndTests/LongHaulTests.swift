import Foundation
import JSON
import Synchronization
import TestSupport
import Testing

extension EndToEnd {
  @Suite("The main job")
  struct LongHaulTests {
    /// The promise as a whole: whatever happens, what was accepted arrives, and the books are exact.
    @Test("10,000 events through 3 outages, a 429, two kill -9 and a restart: all arrive, and the books are exact")
    func everythingArrives() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let settings = RelaySettings(upstream: upstream)
      let senders = Senders(eventCount: 10_000)
      var relay = try await RelayProcess(directory, settings)
      senders.relay(at: relay.ingest[0])

      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { try await senders.send() } }

        // All goes well.
        try await senders.release(1000, untilAccepted: 1000)

        // First outage: the upstream answers with errors.
        upstream.behave { _ in .error(503, "server_error") }
        try await senders.release(2500, untilAccepted: 2500)
        try await upstream.refuses(3)
        upstream.behave { _ in .accept() }

        // First kill -9, while all goes well and senders are at it.
        try await senders.release(4500, untilAccepted: 3000)
        try await relay.crash()
        relay = try await RelayProcess(directory, settings)
        senders.relay(at: relay.ingest[0])
        try await senders.release(4500, untilAccepted: 4500)

        // A rate limit: nothing comes before its time is over.
        let waited = try await upstream.limitsRate(forSeconds: 1) {
          try await senders.release(5500, untilAccepted: 5500)
        }
        #expect(waited >= .seconds(1))

        // Second outage: connections are reset; the second kill -9 comes in the middle of it.
        upstream.behave { _ in .reset }
        try await senders.release(7500, untilAccepted: 6500)
        try await upstream.refuses(3)
        try await relay.crash()
        relay = try await RelayProcess(directory, settings)
        senders.relay(at: relay.ingest[0])
        try await upstream.refuses(1)
        upstream.behave { _ in .accept() }
        try await senders.release(7500, untilAccepted: 7500)

        // Third outage: nobody listens; the relay is restarted meanwhile.
        upstream.refuseConnections()
        try await senders.release(9000, untilAccepted: 9000)
        #expect(try await relay.stop() == 0)
        relay = try await RelayProcess(directory, settings)
        senders.relay(at: relay.ingest[0])
        try upstream.listenAgain()

        try await senders.release(10_000, untilAccepted: 10_000)
        try await group.waitForAll()
      }

      #expect(await upstream.hasTaken(senders.acceptedIDs))
      #expect(try await relay.flush() == 0)
      try await checkBooks(relay, directory, senders)
      checkArrivals(upstream, senders)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      let verified = try await eventRelay("log", "verify", directory.file("data"))
      #expect(verified.exitCode == 0, "\(verified.output)\(verified.errors)")
    }

    /// The upstream has every accepted event, byte for byte, and nothing else.
    private func checkArrivals(_ upstream: ScriptedUpstream, _ senders: Senders) {
      let taken = upstream.record.value.events
      #expect(Set(taken.keys) == senders.acceptedIDs)
      let changed = taken.filter { id, copies in copies.contains { $0 != senders.bytes[id] } }
      #expect(changed.isEmpty, "\(changed.count) events arrived with other bytes")
    }

    /// The ledger and the line file count each stored event exactly once, numbered from 1 without a gap.
    private func checkBooks(_ relay: RelayProcess, _ directory: TemporaryDirectory, _ senders: Senders) async throws {
      let lines = sinkLines(directory).map { Array($0.utf8) }
      let numbers = lines.map { Int(String(decoding: RawJSON.member("seq", of: $0) ?? [], as: UTF8.self)) ?? 0 }
      #expect(numbers == Array(1...max(1, lines.count)), "seq has a gap, a duplicate or another order")

      // A batch whose answer a crash swallowed was sent again, and stands twice: no other event does.
      var copies: [String: Int] = [:]
      var changed = 0
      for line in lines {
        let event = RawJSON.member("event", of: line) ?? []
        let id = RawJSON.string("event_id", of: event) ?? ""
        copies[id, default: 0] += 1
        if event != senders.bytes[id] { changed += 1 }
      }
      #expect(changed == 0, "lines whose event has other bytes than were sent")
      #expect(Set(copies.keys) == senders.acceptedIDs)
      let unexplained = copies.filter { id, count in count > senders.timesSent(id) }
      #expect(unexplained.isEmpty)

      for name in ["upstream", "raw"] {
        let ledger = try #require(try await relay.destination(name)["ledger"], "\(name) has no ledger")
        #expect(ledger["accepted"]?.integer() == lines.count, "\(name): \(ledger)")
        #expect(ledger["delivered"]?.integer() == lines.count, "\(name): \(ledger)")
        #expect(ledger["waiting"]?.integer() == 0, "\(name): \(ledger)")
      }
    }
  }
}

extension ScriptedUpstream {
  /// Waits until so many more requests were refused.
  func refuses(_ count: Int) async throws {
    let before = record.value.refusals
    guard await record.wait(until: { $0.refusals >= before + count }) != nil else {
      throw TestFailure("no further attempts come upstream")
    }
  }

  /// Answers the next request with 429 and a Retry-After, and tells how long it was until the one after it.
  func limitsRate(forSeconds seconds: Int, while traffic: () async throws -> Void) async throws -> Duration {
    let limited = Mutex<(at: ContinuousClock.Instant, next: ContinuousClock.Instant?)?>(nil)
    let seen = Fact(false)
    behave { _ in
      limited.withLock { state in
        guard let first = state else {
          state = (.now, nil)
          return .error(429, "rate_limited", headers: ["Retry-After: \(seconds)"])
        }
        if first.next == nil { state?.next = .now }
        seen.change { $0 = true }
        return .accept()
      }
    }
    try await traffic()
    guard await seen.wait(until: { $0 }) != nil, let times = limited.withLock({ $0 }), let next = times.next else {
      throw TestFailure("nothing came after the 429")
    }
    return next - times.at
  }
}
