import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// The relay through everything that `event-relay torture` knows. `EVENT_RELAY_TORTURE_MINUTES` tortures it for longer.
  @Suite("Tortured")
  struct TortureTests {
    private static let minutes = ProcessInfo.processInfo.environment["EVENT_RELAY_TORTURE_MINUTES"] ?? "2"
    private static let seed = ProcessInfo.processInfo.environment["EVENT_RELAY_TORTURE_SEED"] ?? "20261130"

    @Test("two minutes of all faults lose, repeat and alter nothing, and the ledgers are exact")
    func provesAll() async throws {
      let directory = TemporaryDirectory()
      let run = try await eventRelay(
        "torture", "--minutes", Self.minutes, "--seed", Self.seed, "--dir", directory.path, "--verbose")
      print(run.output)
      // (What torture keeps says what went wrong: it outlives the test.)
      if run.exitCode != 0 { directory.keep() }
      try #require(run.exitCode == 0, "evidence is in \(directory.path)\n\(run.errors)\n\(run.output)")
      #expect(run.output.contains("proven in ") && run.output.contains("seed \(Self.seed)"))
      // It leaves nothing behind.
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    }

    @Test("a line that is taken out of a sink's file before the proof is found, named, and the evidence kept")
    func findsALine() async throws {
      let directory = TemporaryDirectory()
      let child = try ChildProcess([
        "torture", "--minutes", "0.25", "--seed", "5", "--dir", directory.path, "--faults", "restart,reset", "--json",
        "--verbose",
      ])
      // (The first file has ended by then: files last ten seconds, and faults were made for fifteen.)
      #expect(await child.waitForLine("what waits is sent") != nil)
      let home = try #require(try FileManager.default.contentsOfDirectory(atPath: directory.path).first)
      let events = directory.file("\(home)/events")
      // (`30.ndjson`, `30.1.ndjson`, `30.2.ndjson`, `31.ndjson`: the first is never the one that is written to.)
      let files = try FileManager.default.contentsOfDirectory(atPath: events)
      let file = try #require(files.min { ($0.prefix(2), $0.utf8.count) < ($1.prefix(2), $1.utf8.count) })
      var lines = readLines("\(events)/\(file)")
      try #require(!lines.isEmpty && files.count > 1, "\(files)")
      let victim = lines.remove(at: lines.count / 2)
      try (lines.joined(separator: "\n") + "\n").write(toFile: "\(events)/\(file)", atomically: false, encoding: .utf8)
      #expect(await child.wait() == 1, "\(child.errorText)")
      let report = try JSONValue(parsing: child.output.value)
      #expect(report["proven"] == false)
      let event = RawJSON.member("event", of: Array(victim.utf8)) ?? []
      let id = RawJSON.string("event_id", of: event) ?? RawJSON.string("user_id", of: event) ?? "?"
      let findings = report["findings"]?.array ?? []
      #expect(
        findings.contains {
          $0["kind"] == "missing" && $0["destination"] == "raw" && $0["detail"]?.string?.contains(id) == true
            && $0["place"]?.string?.hasSuffix("/events") == true
        }, "\(findings)")
      #expect(FileManager.default.fileExists(atPath: directory.file("\(home)/relay.log")))
    }

    @Test("wrong usage says what would be right")
    func usage() async throws {
      for (arguments, words) in [
        (["--minutes", "0"], "--minutes wants"), (["--minutes", "0.1"], "too short"),
        (["--seed", "x"], "--seed wants"),
        (["--faults", "kil"], "did you mean kill?"), (["--faults", "kill,-kill"], "leaves none"),
      ] {
        let run = try await eventRelay(["torture"] + arguments)
        #expect(run.exitCode == 2 && run.errors.contains(words), "\(arguments): \(run.errors)")
      }
      let list = try await eventRelay("torture", "--faults", "list")
      #expect(list.exitCode == 0 && list.output.contains("short-write"))
      let child = try await eventRelay("torture-relay", "--control", "3", "--config", "/nowhere.yaml")
      #expect(child.exitCode == 2 && child.errors.contains("not for users"), "\(child.errors)")
    }
  }
}
