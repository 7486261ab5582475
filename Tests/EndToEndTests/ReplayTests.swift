import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Past events again")
  struct ReplayTests {
    private let directory = TemporaryDirectory()
    private var configuration: String { directory.file("relay.yaml") }

    private static let raw = "{ name: raw, type: ndjson, path: ./events/%Y/%m/%d.ndjson }"
    private static let again = "{ name: again, type: ndjson, path: ./again/%Y/%m/%d.ndjson }"
    private static let archive = "{ name: audit, type: archive, path: ./archive }"

    private func settings(_ upstream: ScriptedUpstream, _ sinks: String...) -> RelaySettings {
      RelaySettings(
        upstream: upstream, log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB, retain: 1d",
        hasSink: false, grace: "5s", further: "sinks: [\(sinks.joined(separator: ", "))]")
    }

    private func number(_ line: String) -> Int {
      Int(String(decoding: RawJSON.member("seq", of: Array(line.utf8)) ?? [], as: UTF8.self)) ?? 0
    }

    private func event(_ line: String) -> [UInt8] { RawJSON.member("event", of: Array(line.utf8)) ?? [] }

    private func ledger(_ relay: RelayProcess, _ name: String) async throws -> [String: Int] {
      let ledger = try #require(try await relay.destination(name)["ledger"]?.members)
      let counts = ledger.compactMap { member in member.value.integer(as: Int.self).map { (member.key, $0) } }
      let all = Dictionary(uniqueKeysWithValues: counts)
      let right = ["delivered", "waiting", "dead_lettered", "filtered", "dropped", "lost"].reduce(0) {
        $0 + (all[$1] ?? 0)
      }
      #expect((all["accepted"] ?? 0) + (all["replayed"] ?? 0) == right, "\(name): \(all)")
      return all
    }

    /// Asks until a destination's books say so.
    private func wait(_ relay: RelayProcess, _ name: String, until holds: ([String: Int]) -> Bool) async throws {
      try await lookAgain { try await !holds(ledger(relay, name)) }
    }

    private func replay(_ words: String...) throws -> ChildProcess {
      try ChildProcess(["replay", "--config", configuration] + words)
    }

    private func run(_ words: String...) async throws -> CommandResult {
      let child = try ChildProcess(words + ["--config", configuration])
      let code = try #require(await child.wait())
      return CommandResult(exitCode: code, output: child.outputText, errors: child.errorText)
    }

    @Test("from the log to a line file is exact through kills, and new events flow in order meanwhile")
    func killed() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      var relay = try await RelayProcess(directory, settings(upstream, Self.raw))
      let past = (0..<6000).map { TestEvent($0) }
      try await relay.accept(past)
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)

      // A sink that comes later is owed nothing of what was before.
      let settings = settings(upstream, Self.raw, Self.again)
      relay = try await RelayProcess(directory, settings)
      #expect(try await ledger(relay, "again")["accepted"] == 0)
      var live: [TestEvent] = []
      for kill in 1...3 {
        let child = try replay("--to", "again", "--from-log", "--rate", "5000", "--until", "1ms")
        let more = (0..<300).map { TestEvent($0) }
        try await relay.accept(more)
        live += more
        let moment = kill * 1200 + Int.random(in: 0..<600)
        try await wait(relay, "again") { ($0["replayed"] ?? 0) >= moment }
        try await relay.crash()
        #expect(await child.wait() == 1)
        #expect(child.errorText.contains("run the same command to go on"), "\(child.errorText)")
        relay = try await RelayProcess(directory, settings)
      }
      let last = try replay("--to", "again", "--from-log", "--until", "1ms")
      #expect(await last.wait() == 0, "\(last.errorText)")
      #expect(last.outputText.contains("6000 events sent again to again"), "\(last.outputText)")
      try await wait(relay, "again") { $0["waiting"] == 0 }
      let books = try await ledger(relay, "again")
      #expect(books["replayed"] == 6000 && books["accepted"] == 900 && books["delivered"] == 6900)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)

      let lines = sinkLines(directory, "again")
      #expect(lines.map(number).filter { $0 <= 6000 } == Array(1...6000))
      #expect(lines.map(number).filter { $0 > 6000 } == Array(6001...6900))
      let byNumber = Dictionary(uniqueKeysWithValues: lines.map { (number($0), event($0)) })
      #expect(past.enumerated().allSatisfy { byNumber[$0.offset + 1] == $0.element.bytes })
      #expect(live.enumerated().allSatisfy { byNumber[6001 + $0.offset] == $0.element.bytes })
      #expect(sinkLines(directory).map(number) == Array(1...6900), "the other sink's own position is undisturbed")
    }

    @Test("Ctrl-C stops it and says how to go on; a rate is kept; counts are told before")
    func interrupted() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await RelayProcess(directory, settings(upstream, Self.raw))
      try await relay.accept((0..<2000).map { TestEvent($0, name: $0 % 4 == 0 ? "paid" : "seen") })
      #expect(try await relay.flush() == 0)

      let dry = try await run("replay", "--to", "raw", "--from-log", "--name", "paid", "--dry-run")
      #expect(dry.exitCode == 0 && dry.output == "500 events would be sent to raw\n", "\(dry)")
      #expect(try await ledger(relay, "raw")["replayed"] == 0)

      let began = ContinuousClock.now
      let child = try replay("--to", "raw", "--from-log", "--name", "paid", "--rate", "100")
      try await wait(relay, "raw") { ($0["replayed"] ?? 0) >= 100 }
      #expect(ContinuousClock.now - began >= .milliseconds(700), "not faster than the rate")
      child.kill(SIGINT)
      #expect(await child.wait() == 1)
      let part = try #require(child.errorText.firstMatch(of: /raw: (\d+) of 500 events, run the same command to go on/))
      #expect((100..<500).contains(Int(part.1) ?? 0))
      #expect(try await ledger(relay, "raw")["replayed"] == Int(part.1))

      let rest = try await run("replay", "--to", "raw", "--from-log", "--name", "paid")
      #expect(rest.exitCode == 0 && rest.output.hasPrefix("500 events sent again to raw"), "\(rest)")
      try await wait(relay, "raw") { $0["waiting"] == 0 }
      let numbers = sinkLines(directory).map(number)
      #expect(numbers.count == 2500)
      #expect(numbers.filter { $0 % 4 == 1 }.sorted() == stride(from: 1, to: 2000, by: 4).flatMap { [$0, $0] })
      let audit = readLines(directory.file("data/audit.ndjson")).filter { $0.contains(#""action":"replay""#) }
      #expect(audit.count == 2)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("to the upstream it says how many the 7-day rule would clamp; what is waiting anyway isn't sent twice")
    func clamps() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await RelayProcess(directory, settings(upstream, Self.raw))
      // Just young enough when they come, on a machine that is busy as well.
      let week = Date(timeIntervalSinceNow: -7 * 86_400 + 5)
      try await relay.accept((0..<30).map { TestEvent($0, at: $0 < 10 ? week : Date()) })
      #expect(try await relay.flush() == 0)
      upstream.refuseConnections()
      let waiting = (0..<50).map { TestEvent($0) }
      try await relay.accept(waiting)
      // Until they are too old: asked again and again rather than slept for.
      var dry = try await run("replay", "--to", "upstream", "--from-log", "--dry-run")
      try await lookAgain {
        dry = try await run("replay", "--to", "upstream", "--from-log", "--dry-run")
        #expect(dry.exitCode == 0)
        return !dry.output.contains("10 of them")
      }
      #expect(dry.output == "30 events would be sent to upstream; 10 of them are older than 7 days, which it clamps\n")
      try upstream.listenAgain()
      let real = try await run("replay", "--to", "upstream", "--from-log")
      #expect(real.exitCode == 0)
      #expect(real.errors.contains("warning: 10 of "), "\(real.errors)")
      #expect(try await relay.flush() == 0)
      #expect(await upstream.hasTaken(waiting.map(\.id)))
      let taken = upstream.record.value.events.mapValues(\.count)
      let books = try await ledger(relay, "upstream")
      #expect(taken.values.reduce(0, +) == 80 + (books["replayed"] ?? 0))
      #expect(taken.values.allSatisfy { $0 <= 2 })
      #expect(try await relay.stop() == 0)
    }

    @Test("from an archive, and without a running relay: sent at the next start")
    func archived() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      var relay = try await RelayProcess(directory, settings(upstream, Self.raw, Self.archive))
      let past = (0..<700).map { TestEvent($0, name: $0 % 7 == 0 ? "paid" : "seen") }
      try await relay.accept(past)
      #expect(try await relay.flush() == 0)
      let refused = try await run("replay", "--to", "audit", "--from-log")
      #expect(refused.exitCode == 1 && refused.errors.contains("is an archive"), "\(refused)")
      let unknown = try await run("replay", "--to", "nobody", "--from-log")
      #expect(unknown.exitCode == 1 && unknown.errors.contains("no destination nobody"), "\(unknown)")
      #expect(try await relay.stop() == 0)

      let settings = settings(upstream, Self.raw, Self.archive, Self.again)
      _ = settings.write(in: directory)
      let offline = try await run(
        "replay", "--to", "again", "--from-archive", directory.file("archive"), "--name", "paid")
      #expect(offline.exitCode == 0, "\(offline)")
      #expect(offline.output == "100 events wait for again; no relay runs: they are sent at its next start\n")
      relay = try await RelayProcess(directory, settings)
      try await wait(relay, "again") { $0["waiting"] == 0 }
      let lines = sinkLines(directory, "again")
      #expect(lines.map(number) == stride(from: 1, through: 700, by: 7).map { $0 })
      #expect(lines.map(event) == past.enumerated().filter { $0.offset % 7 == 0 }.map(\.element.bytes))
      #expect(try await ledger(relay, "again")["replayed"] == 100)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }
  }
}
