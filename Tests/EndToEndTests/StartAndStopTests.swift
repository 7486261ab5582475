import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Start and stop")
  struct StartAndStopTests {
    private let directory = TemporaryDirectory()

    @Test("SIGTERM sends what waits, within the grace, and exits with 0")
    func drains() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream, linger: "10m", grace: "1m"))
      let events = (0..<150).map { TestEvent($0) }
      try await relay.accept(events)
      #expect(try await relay.stop() == 0)
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(sinkLines(directory).count == 150)
    }

    @Test("SIGINT ends it too, though the upstream is away: what waits is sent after the next start")
    func keepsWhatWaits() async throws {
      let upstream = try ScriptedUpstream()
      upstream.refuseConnections()
      let settings = RelaySettings(upstream: upstream)
      let relay = try await RelayProcess(directory, settings)
      let events = (0..<150).map { TestEvent($0) }
      try await relay.accept(events)
      relay.process.kill(SIGINT)
      #expect(await relay.process.wait() == 0)
      try upstream.listenAgain()
      let again = try await RelayProcess(directory, settings)
      #expect(await upstream.hasTaken(events.map(\.id)))
      #expect(try await again.flush() == 0)
      #expect(sinkLines(directory).count == 150)
    }

    @Test("a second SIGTERM doesn't wait for the grace")
    func secondSignal() async throws {
      let upstream = try ScriptedUpstream { _ in .silence }
      let settings = RelaySettings(upstream: upstream, timeout: "10m", grace: "10m")
      let relay = try await RelayProcess(directory, settings)
      try await relay.accept([TestEvent(0)])
      #expect(await upstream.record.wait { $0.refusals > 0 } != nil)
      relay.process.kill(SIGTERM)
      await relay.process.waitForLine("stopping")
      relay.process.kill(SIGTERM)
      #expect(await relay.process.wait() != nil)
    }

    @Test("more connections than files may be open keep nobody out once they are gone")
    func tooManyConnections() async throws {
      let upstream = try ScriptedUpstream()
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream), openFiles: 56)
      #expect(relay.process.errorText.contains("limit of open files is too low"), "\(relay.process.errorText)")
      let address = relay.ingest[0]
      try await onThread {
        let connections = (0..<120).compactMap { _ in try? TestConnection(to: address) }
        #expect(connections.count >= 56)
      }
      // Until the relay has seen that they are gone, it may cut new ones off.
      let event = TestEvent(0)
      try await lookAgain { (try? await relay.post(TestEvent.batch([event])))?.status != 200 }
      #expect(await upstream.hasTaken([event.id]))
    }

    @Test("a closed standard output is told, and none of the relay's files takes its place")
    func closedOutput() async throws {
      let file = RelaySettings().write(in: directory)
      let line = "exec \"$0\" check --config \"$1\" >&-"
      let child = try ChildProcess(["-c", line, ChildProcess.eventRelay, file], program: "/bin/sh")
      #expect(await child.wait() == 1)
      #expect(child.errorText.contains("can't write to standard output: Bad file descriptor"), "\(child.errorText)")
    }

    @Test("a port in use is told with its address")
    func portInUse() async throws {
      let other = try ScriptedUpstream()
      let settings = RelaySettings(listen: "127.0.0.1:\(other.port)")
      let result = try await eventRelay("run", "--config", settings.write(in: directory))
      #expect(result.exitCode == 1)
      #expect(result.errors.contains("127.0.0.1:\(other.port)"), "\(result.errors)")
      #expect(result.errors.contains("in use"), "\(result.errors)")
    }

    @Test("a second process on the same data directory doesn't start, and says why")
    func sameDirectory() async throws {
      let relay = try await RelayProcess(directory, RelaySettings())
      let result = try await eventRelay("run", "--config", directory.file("relay.yaml"))
      #expect(result.exitCode == 1)
      #expect(result.errors.contains(directory.file("data")), "\(result.errors)")
      #expect(try await relay.admin("GET", "/livez").status == 200)
    }

    @Test("a data directory that can't be made is told with its path and the reason")
    func noDirectory() async throws {
      _ = directory.write("data", "a file")
      let result = try await eventRelay("run", "--config", RelaySettings().write(in: directory))
      #expect(result.exitCode == 1)
      #expect(result.errors.contains(directory.file("data")), "\(result.errors)")
    }

    @Test("every fault of a configuration is told with line and key, and nothing is started")
    func faults() async throws {
      let file = directory.write(
        "relay.yaml",
        """
        data_dir: ./data
        ingest: { kees: any }
        log:
          segment_size: huge
        upstream:
          url: ftp://example.com
          timeout: 5 parsecs
        apps: [{ write_key: "${EVENT_RELAY_TEST_UNSET}" }]
        """)
      for command in ["run", "check"] {
        let result = try await eventRelay(command, "--config", file)
        let text = result.output + result.errors
        #expect(result.exitCode == 2)
        for part in [
          "relay.yaml:2", "keys", "relay.yaml:4", "log.segment_size", "relay.yaml:6", "upstream.url", "relay.yaml:7",
          "upstream.timeout", "relay.yaml:8", "EVENT_RELAY_TEST_UNSET",
        ] {
          #expect(text.contains(part), "\(command) doesn't say \(part):\n\(text)")
        }
        #expect(!FileManager.default.fileExists(atPath: directory.file("data")))
      }
    }

    @Test("a missing configuration is told with its path, wrong usage with what would be right")
    func usage() async throws {
      let missing = try await eventRelay("run", "--config", directory.file("none.yaml"))
      #expect(missing.exitCode == 2)
      #expect(missing.errors.contains(directory.file("none.yaml")))
      #expect(try await eventRelay("run", "--bogus").exitCode == 2)
      #expect(try await eventRelay("bogus").exitCode == 2)
      let help = try await eventRelay("--help")
      #expect(help.exitCode == 0)
      for command in ["run", "check", "upstream", "send", "validate", "status", "flush", "dead-letters", "log"] {
        #expect(help.output.contains(command))
        #expect(try await eventRelay(command, "--help").exitCode == 0)
      }
    }

    @Test("the example configuration is right, and holds the defaults")
    func example() async throws {
      let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
      for file in ["relay.example.yaml", "trial.yaml"] {
        let check = try await eventRelay(
          "check", "--config", "\(root)/Config/\(file)",
          environment: ["ASO_WRITE_KEY": "aso_wk_x", "HOOK_SECRET": "x"])
        #expect(check.exitCode == 0, "\(file): \(check.output)\(check.errors)")
      }
    }

    @Test("it listens on a unix socket and on IPv6 as well")
    func listeners() async throws {
      let path = directory.file("relay.sock")
      let settings = RelaySettings(listen: #"unix:\#(path)", "[::1]:0"#)
      let relay = try await RelayProcess(directory, settings)
      #expect(relay.ingest.contains(.unix(path: path)))
      for address in relay.ingest {
        let answer = try await RelayProcess.post(TestEvent.batch([TestEvent(0)]), to: address)
        #expect(answer.status == 200, "\(address): \(answer.text)")
      }
      #expect(try await relay.stop() == 0)
    }

    @Test("what it makes on disk is for its owner alone")
    func permissions() async throws {
      let upstream = try ScriptedUpstream { _ in .error(403, "quota_exceeded") }
      let relay = try await RelayProcess(directory, RelaySettings(upstream: upstream))
      try await relay.accept([TestEvent(0)])
      #expect(try await relay.flush() == 0)
      for folder in ["data", "events"] {
        let root = directory.file(folder)
        let inside = FileManager.default.enumerator(atPath: root)?.allObjects.compactMap { "\(root)/\($0)" } ?? []
        for path in [root] + inside {
          var info = stat()
          #expect(stat(path, &info) == 0)
          let isDirectory = info.st_mode & S_IFMT == S_IFDIR
          #expect(info.st_mode & 0o777 == (isDirectory ? 0o700 : 0o600), "\(path)")
        }
      }
    }

    @Test("a service manager is told that it is ready and that it stops")
    func serviceManager() async throws {
      let socket = try NotifySocket(directory.file("notify"))
      let file = RelaySettings().write(in: directory)
      let process = try ChildProcess(["run", "--config", file], environment: ["NOTIFY_SOCKET": socket.path])
      #expect(await socket.messages.wait { $0.contains { $0.contains("READY=1") } } != nil)
      process.kill(SIGTERM)
      #expect(await socket.messages.wait { $0.contains { $0.contains("STOPPING=1") } } != nil)
      #expect(await process.wait() == 0)
    }
  }
}
