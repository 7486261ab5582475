import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// The relay against the stand-in's limits: a fifth of the API's for a key, in minutes of three seconds. By hand,
  /// `EVENT_RELAY_REAL_LIMITS=1` takes 50,000 events, the API's own limits and minutes, for one limiter after the other, and
  /// prints what came when: three times about 150 seconds.
  @Suite("The upstream's limits")
  struct LimitsTests {
    private static let isReal = ProcessInfo.processInfo.environment["EVENT_RELAY_REAL_LIMITS"] == "1"
    private static let minute: Double = isReal ? 60 : 3
    private static let minuteText = "\(Int(minute * 1000))ms"
    private static let keyLimit = isReal ? 10_000 : 2000
    private static let installLimit = isReal ? 300 : 600
    /// What the relay uses of the key's limit, with a margin of 5 %.
    private static let budget = keyLimit / 100 * 95
    private static let (total, installs) = (isReal ? 50_000 : 10_000, 200)

    private let directory = TemporaryDirectory()

    /// An event that the stand-in has stored, so many seconds after its first one.
    private struct Stored {
      var seconds: Double
      var isHot: Bool
    }

    /// Half of the events are one install's; the others take turns.
    private func store(at address: TestAddress) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for sender in 0..<4 {
          group.addTask {
            try await onThread {
              let connection = try TestConnection(to: address)
              for request in stride(from: sender, to: Self.total / 100, by: 4) {
                let events = (request * 100..<request * 100 + 100).map { number in
                  TestEvent(
                    number, install: number % 2 == 0 ? "hot" : "i\(number / 2 % (Self.installs - 1))", properties: "{}")
                }
                let answer = try connection.send(
                  "POST", "/v1/events",
                  headers: [("Content-Type", "application/json"), ("X-Write-Key", "aso_wk_test")],
                  body: TestEvent.batch(events))
                guard answer.status == 200 else { throw TestFailure("\(answer.status): \(answer.text)") }
              }
            }
          }
        }
        try await group.waitForAll()
      }
    }

    @Test(
      "of 10,000 events half are one install's: no 429, the others at the key's full rate, the books exact",
      arguments: ["sliding", "fixed", "bucket"])
    func hotInstall(limiter: String) async throws {
      // First the events, with nobody to take them.
      var settings = RelaySettings(
        rateLimit: "events_per_minute: \(Self.keyLimit), per_install_per_minute: \(Self.installLimit), margin: 5%")
      let before = try await RelayProcess(directory, settings)
      try await store(at: before.ingest[0])
      #expect(try await before.stop() == 0)

      let standIn = try ChildProcess([
        "upstream", "--listen", "127.0.0.1:0", "--data", directory.file("stand-in"), "--limiter", limiter,
        "--events-per-minute", "\(Self.keyLimit)", "--per-install-per-minute", "\(Self.installLimit)",
        "--minute", Self.minuteText,
      ])
      let line = try #require(await standIn.waitForLine("listens at"))
      let address = try TestAddress(String(line.split(separator: " ").last ?? ""))
      settings.url = "http://\(address.authority)"
      let relay = try await RelayProcess(
        directory, settings, "--adopt", environment: ["EVENT_RELAY_MINUTE": Self.minuteText])

      let stored = try await watch(address, relay)
      try await check(stored, limiter, address, relay)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      standIn.kill(SIGTERM)
      #expect(await standIn.wait() == 0)
    }

    /// What the stand-in has stored, in its order, once it has all, or with the real limits, all of the others'.
    private func watch(_ standIn: TestAddress, _ relay: RelayProcess) async throws -> [Stored] {
      var stored: [Stored] = []
      var others = 0
      var began: Date?
      let connection = try TestConnection(to: standIn)
      while stored.count < Self.total, !Self.isReal || others < Self.total / 2 {
        let offset = stored.count
        let page = try await onThread {
          try connection.send("GET", "/events?format=ndjson&limit=1000&offset=\(offset)")
        }
        let lines = page.text.split(separator: "\n")
        for line in lines {
          let text = try #require(RawJSON.string("received_at", of: Array(line.utf8)))
          let received = try Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
          if began == nil { began = received }
          stored.append(
            Stored(seconds: received.timeIntervalSince(began ?? received), isHot: line.contains("\"hot\"")))
        }
        others = stored.count { !$0.isHot }
        // A full page has another behind it. Else the relay, which has nothing more to take in, says when there is less.
        if lines.count < 1000 { _ = try await relay.admin("POST", "/drain?timeout=\(Self.isReal ? "500ms" : "50ms")") }
      }
      return stored
    }

    private func check(_ stored: [Stored], _ limiter: String, _ standIn: TestAddress, _ relay: RelayProcess)
      async throws
    {
      let stats = try #require(try await onThread { try TestConnection(to: standIn).send("GET", "/stats") }.json)
      #expect(stats["rate_limited"]?["key"]?.integer() == 0 && stats["rate_limited"]?["install"]?.integer() == 0)
      #expect(stats["requests"]?["events"]?.members?.map(\.key) == ["200"], "\(stats)")
      #expect(stats["events"]?["duplicates"]?.integer() == 0)
      #expect(stats["events"]?["clamped"]?.integer() == 0)

      // The others' last event came as early as the key's limit allows what came until then, each minute's share at its
      // begin; the rest is for a busy machine.
      let last = try #require(stored.lastIndex { !$0.isHot })
      let (all, seconds) = (last + 1, stored[last].seconds)
      let hot = stored[...last].count(where: \.isHot)
      #expect(all - hot == Self.total / 2)
      let minutes = Double((all - 1) / Self.budget)
      let report = """
        \(limiter): the others' \(all - hot) were through after \(seconds) s with \(all) in all; \
        at the key's rate \(minutes * Self.minute) s
        """
      // (In short minutes a slow spell of the machine is a large part of one.)
      #expect(seconds < (minutes + (Self.isReal ? 0.5 : 3)) * Self.minute, "\(report)")
      // The hot install was held back meanwhile, as far as its own limit.
      #expect(hot <= Int(seconds / Self.minute + 1) * Self.installLimit, "\(hot) of the hot install; \(report)")
      #expect(hot < Self.total / 2 * 3 / 4, "the others waited for the hot install: \(report)")
      if Self.isReal { show(stored, report) }

      let ledger = try #require(try await relay.destination("upstream")["ledger"])
      #expect(ledger["accepted"]?.integer() == Self.total)
      if Self.isReal {
        #expect(ledger["delivered"]?.integer(as: Int.self) ?? 0 >= all)
      } else {
        #expect(ledger["delivered"]?.integer() == Self.total && ledger["waiting"]?.integer() == 0, "\(ledger)")
        #expect(stats["events"]?["stored"]?.integer() == Self.total)
      }
    }

    /// What was delivered over time, against the budget.
    private func show(_ stored: [Stored], _ report: String) {
      var (next, others) = (0.0, 0)
      for (place, event) in stored.enumerated() {
        if !event.isHot { others += 1 }
        guard event.seconds >= next || others == Self.total / 2 && !event.isHot else { continue }
        next = event.seconds + Self.minute / 12
        let allowed = (Int(event.seconds / Self.minute) + 1) * Self.budget
        print("\(Int(event.seconds)) s: \(place + 1) stored, \(others) of the others, \(allowed) allowed")
      }
      print(report)
    }
  }
}
