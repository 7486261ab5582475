import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  /// `EVENT_RELAY_KILLS` kills more often than a test run has time for.
  @Suite("An archive")
  struct ArchiveTests {
    private static let kills = ProcessInfo.processInfo.environment["EVENT_RELAY_KILLS"].flatMap(Int.init) ?? 6
    private static let eventsPerKill = 1500

    private func settings(_ upstream: ScriptedUpstream, size: String = "16KiB") -> RelaySettings {
      RelaySettings(
        upstream: upstream, hasSink: false, grace: "5s",
        further: """
          sinks:
            - { name: raw, type: ndjson, path: ./events/%Y/%m/%d.ndjson }
            - { name: audit, type: archive, path: ./archive, rotate: { size: \(size), every: 1s } }
          """)
    }

    /// What `archive verify` says; null of a directory that has nothing yet, since the sink may be slow to begin.
    private func verify(_ directory: TemporaryDirectory) async throws -> JSONValue {
      guard try contents(directory).contains("manifest.ndjson") || !published(directory).isEmpty else { return .null }
      let ran = try await eventRelay("archive", "verify", directory.file("archive"), "--json")
      let json = try JSONValue(parsing: ran.output)
      #expect(ran.exitCode == 0 && json["faults"]?.array == [], "\(ran.output)\(ran.errors)")
      return json
    }

    private func published(_ directory: TemporaryDirectory) throws -> [String] {
      try contents(directory).filter { $0.hasSuffix(".gz") }
    }

    private func contents(_ directory: TemporaryDirectory) throws -> [String] {
      let path = directory.file("archive")
      return FileManager.default.fileExists(atPath: path)
        ? try FileManager.default.contentsOfDirectory(atPath: path) : []
    }

    @Test("killed again and again, every event is in it once, and every published file is whole at any time")
    func killed() async throws {
      let directory = TemporaryDirectory()
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let settings = settings(upstream)
      let senders = Senders(eventCount: Self.kills * Self.eventsPerKill)
      var relay = try await RelayProcess(directory, settings)
      senders.relay(at: relay.ingest[0])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { try await senders.send() } }
        for kill in 0..<Self.kills {
          let end = (kill + 1) * Self.eventsPerKill
          let moment = kill * Self.eventsPerKill + Int.random(in: 1..<Self.eventsPerKill - 400)
          try await senders.release(end, untilAccepted: moment)
          // While it writes, and as a kill left it.
          _ = try await verify(directory)
          try await relay.crash()
          _ = try await verify(directory)
          for file in try published(directory) {
            let gzip = try ChildProcess(["-t", directory.file("archive/\(file)")], program: "/bin/gzip")
            #expect(await gzip.wait() == 0, "\(file)")
          }
          relay = try await RelayProcess(directory, settings)
          senders.relay(at: relay.ingest[0])
          try await senders.release(end, untilAccepted: end)
        }
        try await group.waitForAll()
      }
      #expect(try await relay.flush() == 0)
      try await expectWell(directory)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
      let report = try await verify(directory)
      #expect(report["missing_numbers"] == 0 && report["open_files"]?.array == [] && report["notes"]?.array == [])
      let cat = try await eventRelay("archive", "cat", directory.file("archive"))
      #expect(cat.exitCode == 0 && cat.errors.isEmpty)
      let lines = cat.output.split(separator: "\n").map(String.init)
      #expect(lines == sinkLines(directory))
      let ids = lines.map { RawJSON.string("event_id", of: RawJSON.member("event", of: Array($0.utf8)) ?? []) ?? "" }
      #expect(Set(ids) == senders.acceptedIDs && ids.count >= senders.acceptedIDs.count)
      #expect(try published(directory).count > Self.kills)
    }

    @Test(
      "a full disk under it alone holds up nobody else, and it goes on by itself when there is room",
      .enabled("no small disk can be mounted here") { await SmallDisk.isPossible() })
    func fullDisk() async throws {
      let directory = TemporaryDirectory()
      let disk = try SmallDisk(at: directory.file("archive"), megabytes: 2)
      let upstream = try ScriptedUpstream(keepsRequests: false)
      let relay = try await RelayProcess(directory, settings(upstream, size: "64MiB"), on: disk)
      let events = (0..<3000).map { TestEvent($0) }
      try await relay.accept(Array(events[..<100]))
      #expect(try await relay.flush() == 0)
      try disk.fill(of: relay.process)
      try await relay.accept(Array(events[100...]))
      #expect(await upstream.hasTaken(events.map(\.id)))
      _ = try await relay.flush(timeout: "1s")
      let full = try await relay.destination("audit")
      #expect(full["state"] == "failing", "\(full)")
      #expect(full["detail"]?.string?.contains("No space left on device") == true, "\(full)")
      #expect(try await relay.destination("raw")["pending"]?.integer() == 0)
      disk.empty(of: relay.process)
      #expect(try await relay.flush(timeout: "60s") == 0)
      #expect(try await relay.destination("audit")["state"] == "running")
      // The disk goes with the process: what is on it is read through that.
      let archive = disk.root(of: relay.process) + directory.file("archive")
      let verified = try await eventRelay("archive", "verify", archive, "--json")
      #expect(verified.exitCode == 0, "\(verified.output)\(verified.errors)")
      #expect(try await relay.stop() == 0)
    }
  }
}
