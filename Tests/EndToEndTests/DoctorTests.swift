import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("The doctor")
  struct DoctorTests {
    private let directory = TemporaryDirectory()

    private func settings(_ upstream: ScriptedUpstream) -> RelaySettings {
      var settings = RelaySettings(
        upstream: upstream, log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB", hasSink: false)
      settings.grace = "10s"
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./raw/%H.ndjson }
          - { name: audit, type: archive, path: ./archive, rotate: { size: 64KiB } }
        """
      return settings
    }

    @Test("finds nothing wrong with a relay that never had an event, running and stopped")
    func unused() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, settings(upstream))
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("misses a log's segments where events wait, and not where every one is settled", arguments: [true, false])
    func withoutSegments(areSettled: Bool) async throws {
      let upstream = try ScriptedUpstream { _ in areSettled ? .accept() : .error(503, "server_error") }
      var settings = settings(upstream)
      settings.grace = "100ms"
      let relay = try await RelayProcess(directory, settings)
      try await relay.accept((0..<5).map { TestEvent($0) })
      if areSettled { #expect(try await relay.flush() == 0) }
      #expect(try await relay.stop() == 0)
      let log = directory.file("data/log")
      for name in try FileManager.default.contentsOfDirectory(atPath: log) where name.hasPrefix("segment-") {
        unlink("\(log)/\(name)")
      }
      let report = try await doctor(directory)
      #expect(report.isWell == areSettled, "\(report.faults)")
      if !areSettled { #expect(report.faults.contains { $0.name == "log" }, "\(report.faults)") }
    }

    /// A relay with dead letters, delivered events and archived files; it runs.
    private func relay(_ upstream: ScriptedUpstream) async throws -> RelayProcess {
      let relay = try await RelayProcess(directory, settings(upstream))
      upstream.behave { _ in .error(401, "invalid_write_key") }
      try await relay.accept((0..<5).map { TestEvent($0) })
      #expect(try await relay.flush() == 0)
      upstream.behave { _ in .accept() }
      let padding = padding(1)
      for start in stride(from: 10, to: 1000, by: 90) {
        try await relay.accept((start..<start + 90).map { TestEvent($0, properties: padding) })
      }
      #expect(try await relay.flush() == 0)
      return relay
    }

    /// Properties of so many kilobytes.
    private func padding(_ kilobytes: Int) -> String {
      let text = String(repeating: "x", count: 1000)
      return "{" + (0..<kilobytes).map { #""text\#($0)":"\#(text)""# }.joined(separator: ",") + "}"
    }

    private func files(_ folder: String, _ ending: String) throws -> [String] {
      let root = directory.file(folder)
      let names = try FileManager.default.contentsOfDirectory(atPath: root).filter { $0.hasSuffix(ending) }.sorted()
      return names.map { "\(root)/\($0)" }
    }

    private func write(_ bytes: Data, to path: String) throws {
      let handle = try #require(FileHandle(forWritingAtPath: path))
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: bytes)
      try handle.close()
    }

    @Test("finds nothing wrong with a relay that runs, was killed, was stopped, and with none at all")
    func wellRelay() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      _ = settings(upstream).write(in: directory)
      try await expectWell(directory)
      let relay = try await relay(upstream)
      let report = try await doctor(directory, "--deep")
      #expect(report.isWell, "\(report.faults) \(report.errors)")
      let names = (report.json["checks"]?.array ?? []).compactMap { $0["name"]?.string }
      for name in [
        "ledger upstream", "ledger raw", "ledger audit", "log", "files raw", "archive audit", "destination upstream",
        "clock", "waiting events", "disk", "file modes", "configuration",
      ] { #expect(names.contains(name), "\(name) is not among \(names)") }
      let table = try await eventRelay("doctor", "--config", directory.file("relay.yaml"))
      #expect(table.exitCode == 0 && table.output.contains("dead-lettered 5"), "\(table)")
      try await relay.crash()
      try await expectWell(directory)
      let again = try await RelayProcess(directory, settings(upstream))
      try await expectWell(directory)
      #expect(try await again.stop() == 0)
      try await expectWell(directory)
    }

    @Test("compares a relay that takes events in all the while, and changes nothing of it")
    func busyRelay() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await RelayProcess(directory, settings(upstream))
      let senders = Senders(eventCount: 20_000)
      senders.relay(at: relay.ingest[0])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<2 { group.addTask { try await senders.send() } }
        try await senders.release(20_000, untilAccepted: 1000)
        try await expectWell(directory)
        try await senders.release(20_000, untilAccepted: 20_000)
        try await group.waitForAll()
      }
      #expect(try await relay.flush() == 0)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("finds a dead letter's line that was taken out, in a file and in the one that is written to")
    func deadLetterGone() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await relay(upstream)
      let path = try #require(try files("data/dead-letters", ".ndjson").first)
      let bytes = try #require(readFile(path))
      let firstEnd = try #require(bytes.firstIndex(of: UInt8(ascii: "\n")))
      // In its place, and as an editor does it.
      try write(Data(bytes[(firstEnd + 1)...]), to: path)
      let cut = try await doctor(directory)
      #expect(cut.exitCode == 1 && cut.has("ledger upstream", "it was cut"), "\(cut.faults)")
      #expect(cut.errors.hasPrefix("ledger upstream: "), "\(cut.errors)")
      #expect(try await relay.stop() == 0)
      try Data(bytes[(firstEnd + 1)...]).write(to: URL(fileURLWithPath: path), options: .atomic)
      chmod(path, 0o600)
      let gone = try await doctor(directory)
      #expect(gone.exitCode == 1 && gone.has("ledger upstream", "1 dead letters are gone"), "\(gone.faults)")
      try Data(bytes).write(to: URL(fileURLWithPath: path), options: .atomic)
      chmod(path, 0o600)
      try await expectWell(directory)
    }

    @Test("finds a position file from another time, older or of a longer log")
    func otherPosition() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      var relay = try await relay(upstream)
      #expect(try await relay.stop() == 0)
      let path = directory.file("data/positions/upstream.json")
      let older = try #require(readFile(path))
      try FileManager.default.copyItem(atPath: directory.file("data/log"), toPath: directory.file("log-before"))
      relay = try await RelayProcess(directory, settings(upstream))
      let padding = padding(4)
      for start in stride(from: 2000, to: 4000, by: 100) {
        try await relay.accept((start..<start + 100).map { TestEvent($0, properties: padding) })
      }
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      let newer = try #require(readFile(path))
      try write(Data(older), to: path)
      let found = try await doctor(directory)
      #expect(
        found.exitCode == 1 && found.has("ledger upstream", "are neither settled nor in the log"), "\(found.faults)")
      try write(Data(newer), to: path)
      try await expectWell(directory)
      // A log of before under positions of now.
      try FileManager.default.removeItem(atPath: directory.file("data/log"))
      try FileManager.default.copyItem(atPath: directory.file("log-before"), toPath: directory.file("data/log"))
      let before = try await doctor(directory)
      #expect(before.exitCode == 1 && before.has("log end", "what is between is gone"), "\(before.faults)")
    }

    @Test("finds a segment that was cut")
    func segmentCut() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await relay(upstream)
      upstream.behave { _ in .error(503, "server_error") }
      let padding = padding(7)
      try await relay.accept((5000..<5500).map { TestEvent($0, properties: padding) })
      try await relay.crash()
      try await expectWell(directory)
      let segments = try files("data/log", ".log").filter { $0.contains("segment-") }
      let path = segments[segments.count - 2]
      let bytes = try #require(readFile(path))
      try write(Data(bytes[..<(bytes.count / 2)]), to: path)
      let found = try await doctor(directory)
      #expect(found.exitCode == 1 && found.faults.contains { $0.name == "log" }, "\(found.faults)")
      try FileManager.default.removeItem(atPath: path)
      let gone = try await doctor(directory)
      #expect(gone.has("ledger upstream", "are neither settled nor in the log"), "\(gone.faults)")
    }

    @Test("says that a relay runs which gives it no status, and checks the files all the same")
    func silentRelay() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      var locked = settings(upstream)
      locked.adminToken = "s3cret-token"
      let relay = try await RelayProcess(directory, locked)
      try await relay.accept([TestEvent(0)])
      try await expectWell(directory)
      _ = settings(upstream).write(in: directory)
      let report = try await doctor(directory)
      #expect(report.exitCode == 1 && report.faults.map(\.name) == ["relay"], "\(report.faults)")
      #expect(report.json["running"] == true)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("finds an archive's file that was removed, and a line of its manifest that was changed")
    func archiveChanged() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await relay(upstream)
      #expect(try await relay.stop() == 0)
      let file = try #require(try files("archive", ".ndjson.gz").first)
      let bytes = try #require(readFile(file))
      try FileManager.default.removeItem(atPath: file)
      let removed = try await doctor(directory)
      #expect(removed.exitCode == 1 && removed.has("archive audit", "is missing"), "\(removed.faults)")
      try Data(bytes).write(to: URL(fileURLWithPath: file))
      chmod(file, 0o600)
      try await expectWell(directory)

      // A byte in its middle: only --deep reads it.
      var other = bytes
      other[other.count / 2] ^= 1
      try write(Data(other), to: file)
      let deep = try await doctor(directory, "--deep")
      #expect(deep.exitCode == 1 && deep.faults.map(\.name) == ["archive audit"], "\(deep.faults)")
      try write(Data(bytes), to: file)

      let manifest = directory.file("archive/manifest.ndjson")
      let lines = try #require(readFile(manifest))
      let text = String(decoding: lines, as: UTF8.self)
      let changed = text.replacing(#""count":"#, with: #""count":1"#, maxReplacements: 1)
      try #require(changed != text)
      try write(Data(changed.utf8), to: manifest)
      let found = try await doctor(directory)
      #expect(found.exitCode == 1 && found.has("archive audit", "manifest.ndjson"), "\(found.faults)")
      // Cut at its end, with the files that the end named.
      let kept = text.split(separator: "\n").dropLast().map { $0 + "\n" }.joined()
      try write(Data(kept.utf8), to: manifest)
      let cut = try await doctor(directory)
      #expect(cut.exitCode == 1 && cut.faults.map(\.name) == ["archive audit"], "\(cut.faults)")
    }

    @Test("finds a line file that was cut, a file that others may read, and events that fit no configuration")
    func others() async throws {
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await relay(upstream)
      #expect(try await relay.stop() == 0)
      chmod(directory.file("data/instance"), 0o644)
      let open = try await doctor(directory)
      #expect(open.exitCode == 1 && open.has("file modes", "data/instance (0644)"), "\(open.faults)")
      chmod(directory.file("data/instance"), 0o600)

      let raw = try #require(try files("raw", ".ndjson").last)
      let bytes = try #require(readFile(raw))
      try write(Data(bytes.dropLast(10)), to: raw)
      let cut = try await doctor(directory)
      #expect(cut.exitCode == 1 && cut.has("files raw", "it was cut"), "\(cut.faults)")
      try write(Data(bytes), to: raw)
      try await expectWell(directory)

      upstream.behave { _ in .error(503, "server_error") }
      let again = try await RelayProcess(directory, settings(upstream))
      try await again.accept([TestEvent(7000)])
      try await again.crash()
      var other = settings(upstream)
      other.url = "http://127.0.0.1:9"
      other.upstream = nil
      _ = other.write(in: directory)
      let misfit = try await doctor(directory)
      #expect(misfit.exitCode == 1 && misfit.faults.map(\.name) == ["waiting events"], "\(misfit.faults)")
      _ = directory.write("relay.yaml", "data_dir: ./data\nupstream: { linge: 1s }\n")
      let faulty = try await eventRelay("doctor", "--config", directory.file("relay.yaml"))
      #expect(faulty.exitCode == 2, "\(faulty)")
    }
  }
}
