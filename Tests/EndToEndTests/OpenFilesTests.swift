import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Too few open files")
  struct OpenFilesTests {
    private func port(_ address: TestAddress) throws -> Int {
      guard case .tcp(_, let port) = address else { throw TestFailure("no TCP address") }
      return Int(port)
    }

    @Test("a server that had none left for a new connection takes new ones as soon as others end")
    func exhausted() async throws {
      let command = ChildProcess.command(openFiles: 40)
      let words = [ChildProcess.eventRelay, "upstream", "--listen", "127.0.0.1:0"]
      let standIn = try ChildProcess(Array(command.dropFirst()) + words, program: command[0])
      let line = try #require(await standIn.waitForLine("127.0.0.1:"), "\(standIn.errorText)")
      let address = try TestAddress(String(line[line.range(of: "127.0.0.1:")!.lowerBound...]))
      let port = try port(address)
      // (What it opens with its first request is open by then; that one's own isn't counted.)
      var clients = [try RawClient(port: port)]
      await clients[0].send("GET /stats HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await clients[0].response().status == 200)
      let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(standIn.id)/fd").count - 1
      await clients[0].send("GET /stats HTTP/1.1\r\nHost: h\r\n\r\n")
      for _ in 1..<50 {
        clients.append(try RawClient(port: port))
        await clients[clients.count - 1].send("GET /stats HTTP/1.1\r\nHost: h\r\n\r\n")
      }
      let room = 40 - files
      let waiting = Array(clients[room...])
      clients.removeSubrange(room...)
      for client in clients { #expect(try await client.response().status == 200) }
      for client in waiting {
        // Ends the oldest connection.
        clients.removeFirst()
        #expect(try await client.response().status == 200)
        clients.append(client)
      }
    }

    private let directory = TemporaryDirectory()
    private static let sinks = """
      sinks:
        - { name: raw, type: ndjson, path: ./events/%Y/%m/%d.ndjson }
        - { name: audit, type: archive, path: ./archive }
      """

    private func metric(_ admin: TestConnection, _ name: String) throws -> Double {
      let text = try admin.send("GET", "/metrics").text
      let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
      return line.flatMap { Double($0.dropFirst(name.utf8.count + 1)) } ?? -1
    }

    @Test("under a limit of 64, with hundreds of clients, what is promised is kept and every destination goes on")
    func few() async throws {
      let upstream = try ScriptedUpstream()
      var settings = RelaySettings(upstream: upstream, hasSink: false)
      settings.further = Self.sinks
      let relay = try await RelayProcess(directory, settings, openFiles: 64)
      let warning = try #require(relay.process.errorLines.value.first { $0.contains("limit of open files") })
      #expect(warning.contains("limit=64") && warning.contains("connections="), "\(warning)")
      let address = relay.ingest[0]
      // Some say nothing, some begin and don't end.
      let idle = try await onThread { try RawSockets(150, to: address) }
      let slow = try await onThread { try RawSockets(150, to: address) }
      slow.send("POST /v1/events HTTP/1.1\r\nHost: re")
      let senders = 4
      let promised = Fact<Set<String>>([])
      try await withThrowingTaskGroup(of: Void.self) { group in
        for sender in 0..<senders {
          group.addTask {
            for number in 0..<25 {
              let events = (0..<40).map { TestEvent(sender * 1000 + number * 40 + $0) }
              // Whoever is told to come again comes again.
              try await lookAgain {
                guard let answer = try? await relay.post(TestEvent.batch(events)) else { return true }
                guard [200, 503].contains(answer.status) else { throw TestFailure("\(answer.status): \(answer.text)") }
                return answer.status == 503
              }
              promised.change { $0.formUnion(events.map(\.id)) }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(promised.value.count == senders * 1000)
      #expect(await upstream.hasTaken(promised.value))
      #expect(ProcessFacts(id: relay.process.id).openFiles <= 64)
      #expect(!relay.process.errorText.contains("Too many open files"), "\(relay.process.errorText)")
      #expect(try await relay.flush() == 0)
      withExtendedLifetime((idle, slow)) {}
      #expect(try await relay.stop() == 0)
      // The sinks have all of it too.
      let lines = sinkLines(directory)
      #expect(lines.count >= senders * 1000)
      #expect(
        promised.value.isSubset(of: lines.compactMap { (try? JSONValue(parsing: $0))?["event"]?["event_id"]?.string }))
      try await expectWell(directory)
    }

    @Test("of no descriptor left the relay makes no work, and goes on within a second of there being one again")
    func exhaustedRelay() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      let facts = ProcessFacts(id: relay.process.id)
      let (address, adminAddress) = (relay.ingest[0], relay.admin)
      // Open before there is none left; the log, the sink and the way upstream have theirs.
      let (sender, admin) = try await onThread {
        (try TestConnection(to: address), try TestConnection(to: adminAddress))
      }
      let headers = [("Content-Type", "application/json"), ("X-Write-Key", "aso_wk_test")]
      var ids: [String] = []
      func post() async throws {
        let events = (0..<20).map { TestEvent($0) }
        let answer = try await onThread {
          try sender.send("POST", "/v1/events", headers: headers, body: TestEvent.batch(events))
        }
        guard answer.status == 200 else { throw TestFailure("\(answer.status): \(answer.text)") }
        ids += events.map(\.id)
      }
      try await post()
      #expect(await upstream.hasTaken(ids))
      _ = try await onThread { try admin.send("GET", "/livez") }
      // (What another process takes of the machine may spoil one of the rounds.)
      var best = Duration.seconds(3600)
      var least = Double.infinity
      for _ in 0..<3 {
        // The highest descriptor counts, and whatever lies between is taken by what waits.
        try await facts.setOpenFilesLimit(3)
        let waiting = try await onThread { try RawSockets(100, to: address) }
        waiting.send("POST /v1/events HTTP/1.1\r\nHost: relay\r\nX-Write-Key: k\r\nContent-Length: 0\r\n\r\n")
        // What it has goes on.
        try await post()
        #expect(try await onThread { try metric(admin, "event_relay_ingest_accept_failures_total") } > 0)
        let before = facts.cpuSeconds
        let isSilent = try await onThread {
          var waited = pollfd(fd: waiting.descriptors[0], events: Int16(POLLIN), revents: 0)
          return poll(&waited, 1, 1500) == 0
        }
        #expect(isSilent, "nobody could be taken")
        least = min(least, facts.cpuSeconds - before)
        let began = ContinuousClock.now
        try await facts.setOpenFilesLimit(1024)
        for answer in try await onThread({ try waiting.answers() }) { #expect(answer.hasPrefix("HTTP/1.1 400 ")) }
        best = min(best, ContinuousClock.now - began)
      }
      #expect(best < .seconds(1), "\(best)")
      #expect(least < 0.3, "\(least) s of CPU time within 1.5 s")
      try await post()
      #expect(await upstream.hasTaken(ids))
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      try await expectWell(directory)
    }

    @Test("too few for the sinks that are configured are told at the start, with how many it takes")
    func tooFew() async throws {
      var settings = RelaySettings(hasSink: false)
      settings.further =
        "sinks:\n"
        + (0..<8).map {
          "  - { name: a\($0), type: archive, path: ./archive-\($0) }\n"
        }.joined()
      let result = try await ChildProcess.result(
        ["run", "--config", settings.write(in: directory)], openFiles: 64)
      #expect(result.exitCode == 1)
      #expect(
        result.errors.contains("the limit of open files is 64, and this configuration needs at least "),
        "\(result.errors)")
      #expect(!FileManager.default.fileExists(atPath: directory.file("data/log")))
    }
  }
}
