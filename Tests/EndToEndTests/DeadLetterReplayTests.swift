import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Dead letters again")
  struct DeadLetterReplayTests {
    private let directory = TemporaryDirectory()

    private func settings(_ upstream: ScriptedUpstream, apps: String = "", keys: String = "any") -> RelaySettings {
      RelaySettings(upstream: upstream, keys: keys, apps: apps, onRefusedKey: "dead_letter", grace: "5s")
    }

    private func run(_ words: String...) async throws -> CommandResult {
      let child = try ChildProcess(words + ["--config", directory.file("relay.yaml")])
      let code = try #require(await child.wait())
      return CommandResult(exitCode: code, output: child.outputText, errors: child.errorText)
    }

    private func ledger(_ relay: RelayProcess) async throws -> [String: Int] {
      let ledger = try #require(try await relay.destination("upstream")["ledger"]?.members)
      let counts = ledger.compactMap { member in member.value.integer(as: Int.self).map { (member.key, $0) } }
      let all = Dictionary(uniqueKeysWithValues: counts)
      let right = ["delivered", "waiting", "dead_lettered", "filtered", "dropped", "lost"].reduce(0) {
        $0 + (all[$1] ?? 0)
      }
      #expect((all["accepted"] ?? 0) + (all["replayed"] ?? 0) == right, "\(all)")
      return all
    }

    /// Dead letters of so many events.
    private func bury(_ count: Int, _ relay: RelayProcess, _ upstream: ScriptedUpstream) async throws -> [TestEvent] {
      upstream.behave { _ in .error(401, "invalid_write_key") }
      let events = (0..<count).map { TestEvent($0) }
      try await relay.accept(events)
      #expect(try await relay.flush() == 0)
      #expect(try await ledger(relay)["dead_lettered"] == count)
      return events
    }

    @Test("each goes back once through kills in the middle, with its id and bytes, and a second time nothing does")
    func killed() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let settings = settings(upstream)
      var relay = try await RelayProcess(directory, settings)
      let events = try await bury(3000, relay, upstream)
      upstream.behave { _ in .accept() }
      for kill in 1...3 {
        let child = try ChildProcess(
          ["dead-letters", "replay", "--rate", "3000", "--config", directory.file("relay.yaml")])
        let moment = kill * 700 + Int.random(in: 0..<300)
        try await lookAgain { try await (ledger(relay)["dead_letters_replayed"] ?? 0) < moment }
        try await relay.crash()
        try await expectWell(directory)
        #expect(await child.wait() == 1)
        relay = try await RelayProcess(directory, settings)
        _ = try await ledger(relay)
      }
      let last = try await run("dead-letters", "replay")
      #expect(last.exitCode == 0 && last.output.hasPrefix("3000 events sent again to upstream"), "\(last)")
      #expect(try await relay.flush() == 0)
      #expect(await upstream.hasTaken(events.map(\.id)))
      let books = try await ledger(relay)
      #expect(
        books["accepted"] == 3000 && books["delivered"] == 3000 && books["dead_lettered"] == 0
          && books["dead_letters_replayed"] == 3000 && books["replayed"] == 0, "\(books)")
      let taken = upstream.record.value.events
      #expect(events.allSatisfy { taken[$0.id]?.allSatisfy { [bytes = $0.bytes] in $0 == bytes } == true })

      let second = try await run("dead-letters", "replay")
      #expect(second.exitCode == 0 && second.output == "nothing matches\n", "\(second)")
      #expect(try await ledger(relay) == books)
      #expect(try await run("dead-letters", "list").errors.contains("no dead letters"))
      let all = try await run("dead-letters", "list", "--all", "--json", "--limit", "5000").output
      #expect(all.split(separator: "\n").count == 3000)
      #expect(all.split(separator: "\n").allSatisfy { $0.contains(#""replayed":true"#) })
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("another key sends them as the app that has it, and is seen nowhere; one that nobody has is an error")
    func otherKey() async throws {
      let upstream = try ScriptedUpstream()
      let apps = "apps: [{ name: ios, write_key: wrong_key_1234 }, { name: kiosk, write_key: right_key_5678 }]"
      let relay = try await RelayProcess(directory, settings(upstream, apps: apps, keys: "listed"))
      upstream.behave { $0.key == "wrong_key_1234" ? .error(401, "invalid_write_key") : .accept() }
      let events = (0..<20).map { TestEvent($0) }
      try await relay.accept(events, key: "wrong_key_1234")
      #expect(try await relay.flush() == 0)

      let unknown = directory.write("unknown.key", "some_other_key\n")
      let refused = try await run("dead-letters", "replay", "--write-key-file", unknown)
      #expect(refused.exitCode == 1 && refused.errors.contains("No app has this write key"), "\(refused)")
      let file = directory.write("right.key", "right_key_5678\n")
      let done = try await run("dead-letters", "replay", "--app", "ios", "--write-key-file", file)
      #expect(done.exitCode == 0, "\(done)")
      #expect(try await relay.flush() == 0)
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(upstream.record.value.requests.last?.key == "right_key_5678")
      let written = [
        relay.process.errorText, String(decoding: readFile(directory.file("data/audit.ndjson")) ?? [], as: UTF8.self),
        done.output, done.errors, try await relay.admin("GET", "/replays").text,
      ]
      #expect(written.allSatisfy { !$0.contains("right_key") && !$0.contains("some_other") })
      let files = FileManager.default.enumerator(atPath: directory.file("data/replays"))?.allObjects ?? []
      for case let name as String in files {
        let bytes = readFile(directory.file("data/replays/\(name)")) ?? []
        #expect(String(decoding: bytes, as: UTF8.self).contains("right_key") == false, "\(name)")
      }
      #expect(try await relay.stop() == 0)
    }

    @Test("those that are dropped are gone from the disk and counted; those refused again are dead letters once more")
    func dropped() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await RelayProcess(directory, settings(upstream))
      let events = try await bury(50, relay, upstream)
      let again = try await run("dead-letters", "replay")
      #expect(again.exitCode == 0, "\(again)")
      #expect(try await relay.flush() == 0)
      var books = try await ledger(relay)
      #expect(books["dead_lettered"] == 50 && books["dead_letters_replayed"] == 50, "\(books)")
      #expect(sinkLines(directory, "data/dead-letters").count == 100)

      let usage = try await run("dead-letters", "drop")
      #expect(usage.exitCode == 2, "\(usage)")
      var drop = try await run("dead-letters", "drop", "--code", "invalid_write_key")
      while drop.exitCode == 1, drop.errors.contains("being written") {
        drop = try await run("dead-letters", "drop", "--code", "invalid_write_key")
      }
      #expect(drop.exitCode == 0 && drop.output.hasPrefix("100 dead letters dropped"), "\(drop)")
      let left = FileManager.default.enumerator(atPath: directory.file("data/dead-letters"))?.allObjects ?? []
      for case let name as String in left {
        let text = String(decoding: readFile(directory.file("data/dead-letters/\(name)")) ?? [], as: UTF8.self)
        #expect(events.allSatisfy { !text.contains($0.id) }, "\(name)")
      }
      let removed = try await relay.destination("upstream")["ledger"]?["dead_letters_removed"]
      #expect(removed?["dropped"]?.integer() == 50, "\(String(describing: removed))")
      let page = try await relay.admin("GET", "/metrics").text
      #expect(
        page.contains(#"event_relay_dead_letters_removed_total{destination="upstream",reason="dropped"} 50"#))
      // It goes on with a new file.
      _ = try await relay.accept([TestEvent(1)])
      #expect(try await relay.flush() == 0)
      #expect(sinkLines(directory, "data/dead-letters").count == 1)
      books = try await ledger(relay)
      #expect(books["dead_lettered"] == 51, "\(books)")
      // (The key is still refused; but for that all is well.)
      #expect(try await doctor(directory).faults.map(\.name) == ["destination upstream"])
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      let dry = try await run("dead-letters", "replay", "--dry-run")
      #expect(dry.exitCode == 0 && dry.output == "1 event would be sent to upstream\n", "\(dry)")
    }
  }
}
