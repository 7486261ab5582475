import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("A sink in trouble")
  struct SinkTroubleTests {
    private let directory = TemporaryDirectory()

    private func settings(_ upstream: ScriptedUpstream, _ sinks: String...) -> RelaySettings {
      var settings = RelaySettings(upstream: upstream, hasSink: false)
      settings.further = "sinks:\n" + sinks.map { "  - { \($0) }\n" }.joined()
      return settings
    }

    /// Waits until a destination is as wanted.
    private func destination(
      _ name: String, of relay: RelayProcess, _ isWanted: (JSONValue) -> Bool
    ) async throws -> JSONValue {
      let deadline = ContinuousClock.now + .seconds(60)
      var found = try await relay.destination(name)
      while !isWanted(found), ContinuousClock.now < deadline {
        await Task.yield()
        found = try await relay.destination(name)
      }
      #expect(isWanted(found), "\(name) is \(found)")
      return found
    }

    private func numbers(_ lines: [String]) -> [Int] {
      lines.map { Int(String(decoding: RawJSON.member("seq", of: Array($0.utf8)) ?? [], as: UTF8.self)) ?? 0 }
    }

    @Test(
      "a full disk under some sinks stops them alone; they say so, and catch up when there is room",
      .enabled("no small disk can be mounted here") { await SmallDisk.isPossible() })
    func fullDisk() async throws {
      let disk = try SmallDisk(at: directory.file("small"), megabytes: 8)
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(
        directory,
        settings(
          upstream, "name: raw, type: ndjson, path: ./small/raw.ndjson",
          "name: audit, type: archive, path: ./small/archive",
          "name: other, type: ndjson, path: ./other/all.ndjson"),
        on: disk)
      let padding = #"{"text":"\#(String(repeating: "x", count: 1000))"}"#
      try await relay.accept((0..<100).map { TestEvent($0) })
      for name in ["raw", "audit"] { _ = try await destination(name, of: relay) { $0["pending"]?.integer() == 0 } }
      try disk.fill(of: relay.process)
      let events = (0..<1000).map { TestEvent($0, properties: padding) }
      try await relay.accept(events)
      #expect(await upstream.hasTaken(events.map(\.id)))
      _ = try await destination("other", of: relay) { $0["pending"]?.integer() == 0 }
      for name in ["raw", "audit"] {
        let status = try await destination(name, of: relay) { $0["state"] == "failing" }
        #expect(status["detail"]?.string?.contains("No space left on device") == true, "\(status)")
        #expect((status["pending"]?.integer() ?? 0) > 0)
      }
      #expect(try await relay.admin("GET", "/readyz").status == 200)

      disk.empty(of: relay.process)
      for name in ["raw", "audit"] {
        _ = try await destination(name, of: relay) { $0["pending"]?.integer() == 0 && $0["state"] == "running" }
      }
      let root = disk.root(of: relay.process)
      #expect(numbers(readLines(root + directory.file("small/raw.ndjson"))) == Array(1...1100))
      #expect(numbers(readLines(directory.file("other/all.ndjson"))) == Array(1...1100))
      #expect(try await relay.stop() == 0)
    }

    @Test("directories removed under running sinks are made anew, and what comes then is in them")
    func removedDirectories() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(
        directory,
        settings(
          upstream, "name: raw, type: ndjson, path: ./raw/%app/all.ndjson",
          "name: audit, type: archive, path: ./archive"))
      try await relay.accept((0..<100).map { TestEvent($0) })
      for name in ["raw", "audit"] { _ = try await destination(name, of: relay) { $0["pending"]?.integer() == 0 } }
      for folder in ["raw", "archive"] { try FileManager.default.removeItem(atPath: directory.file(folder)) }
      try await relay.accept((0..<50).map { TestEvent($0) })
      for name in ["raw", "audit"] {
        _ = try await destination(name, of: relay) { $0["pending"]?.integer() == 0 && $0["state"] == "running" }
      }
      #expect(try await relay.stop() == 0)
      let raw = numbers(sinkLines(directory, "raw"))
      #expect(raw.suffix(50) == Array(101...150)[...])
      let verified = try await eventRelay("archive", "verify", directory.file("archive"))
      #expect(verified.exitCode == 0, "\(verified.output)\(verified.errors)")
      let archived = try await eventRelay("archive", "cat", directory.file("archive"))
      #expect(numbers(archived.output.split(separator: "\n").map(String.init)).suffix(50) == Array(101...150)[...])
    }

    @Test("a file where its directory should be is said, and once it is gone the sink heals by itself")
    func blocked() async throws {
      for name in ["raw", "archive"] { _ = directory.write(name, "in the way") }
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(
        directory,
        settings(
          upstream, "name: raw, type: ndjson, path: ./raw/all.ndjson", "name: audit, type: archive, path: ./archive"))
      try await relay.accept((0..<10).map { TestEvent($0) })
      for name in ["raw", "audit"] {
        let status = try await destination(name, of: relay) { $0["state"] == "failing" }
        #expect(status["detail"]?.string?.contains(directory.path) == true, "\(status)")
      }
      #expect(try await relay.admin("GET", "/readyz").status == 200)
      for name in ["raw", "archive"] { unlink(directory.file(name)) }
      for name in ["raw", "audit"] {
        _ = try await destination(name, of: relay) { $0["pending"]?.integer() == 0 && $0["state"] == "running" }
      }
      #expect(numbers(sinkLines(directory, "raw")) == Array(1...10))
      #expect(try await relay.stop() == 0)
    }

    @Test("one that is too far behind loses its oldest alone, counted to the event")
    func tooFarBehind() async throws {
      _ = directory.write("raw", "in the way")
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(
        directory,
        settings(
          upstream, "name: raw, type: ndjson, path: ./raw/all.ndjson, max_behind: 64KiB",
          "name: other, type: ndjson, path: ./other/all.ndjson, only: { names: [app_opened] }"))
      for _ in 0..<20 {
        try await relay.accept((0..<100).map { TestEvent($0, name: $0 % 4 == 0 ? "app_opened" : "level_completed") })
      }
      let behind = try await destination("raw", of: relay) {
        ($0["ledger"]?["dropped"]?.integer() ?? 0) > 1000
      }
      let waiting = behind["pending"]?.integer() ?? 0
      #expect(waiting > 0)
      unlink(directory.file("raw"))
      let healed = try await destination("raw", of: relay) { $0["pending"]?.integer() == 0 && $0["state"] == "running" }
      let lines = numbers(sinkLines(directory, "raw"))
      #expect(lines == Array(2001 - lines.count...2000))
      #expect(healed["ledger"]?["delivered"]?.integer() == lines.count)
      #expect(healed["ledger"]?["dropped"]?.integer() == 2000 - lines.count)
      let other = try await destination("other", of: relay) { $0["pending"]?.integer() == 0 }
      #expect(other["ledger"]?["delivered"] == 500 && other["ledger"]?["filtered"] == 1500)
      #expect(sinkLines(directory, "other").count == 500)
      #expect(try await relay.stop() == 0)
    }
  }
}
