import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("The relay's files")
  struct FileModesTests {
    private let directory = TemporaryDirectory()

    private func shell(_ umask: String) -> [String] { ["/bin/sh", "-c", "umask \(umask); exec \"$@\"", "sh"] }

    /// Sinks of every kind, and every switch that makes files.
    private func settings(_ upstream: ScriptedUpstream, _ hook: ScriptedUpstream) -> RelaySettings {
      var settings = RelaySettings(
        upstream: upstream, listen: "unix:ingest.sock", intake: ", dedupe: { window: 1d }",
        apps: """
          apps:
            - { name: ios, write_key: aso_wk_test, default: true, consent: { deny_ids_file: ./deny.txt } }
          """,
        log: "segment_size: 2MiB, max_size: 64MiB, min_free_disk: 1MiB, retain: 1d", hasSink: false)
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./raw/%app/%H.ndjson, rotate: { size: 1KiB } }
          - { name: mine, type: ndjson, path: ./made/by-me/%H.ndjson }
          - { name: audit, type: archive, path: ./archive, rotate: { size: 1KiB } }
          - { name: hook, type: webhook, url: "\(hook.url)", linger: 0s, retry: { initial: 20ms, max: 50ms } }
        """
      return settings
    }

    /// Everything below the directory that isn't as private as it should be, with its mode.
    private func open(_ own: Set<String>) -> [String] {
      (FileManager.default.enumerator(atPath: directory.path)?.allObjects ?? []).compactMap { $0 as? String }
        .filter { !own.contains($0) }.compactMap { name in
          var status = stat()
          guard lstat(directory.file(name), &status) == 0 else { return nil }
          let right: mode_t = status.st_mode & S_IFMT == S_IFDIR ? 0o700 : 0o600
          let mode = status.st_mode & 0o7777
          return mode == right ? nil : "\(name) (0\(String(mode, radix: 8)))"
        }
    }

    /// Leaves behind the last whole record what a write that a power cut ended could leave.
    private func tear() throws {
      let log = directory.file("data/log")
      let names = try FileManager.default.contentsOfDirectory(atPath: log).filter { $0.hasPrefix("segment-") }.sorted()
      let path = "\(log)/\(try #require(names.last))"
      let bytes = try #require(readFile(path))
      let end = (try #require(bytes.lastIndex { $0 != 0 }) / 512 + 1) * 512
      let descriptor = Foundation.open(path, O_WRONLY)
      defer { close(descriptor) }
      // The beginning of a record of this life of the file, and not the rest.
      let torn = bytes[512..<552] + [UInt8](repeating: 0xA5, count: 100)
      #expect(pwrite(descriptor, Array(torn), torn.count, off_t(end)) == torn.count)
    }

    @Test(
      "are 0600 and its directories 0700, whatever the umask, and what the user has made stays as it is",
      arguments: ["000", "077"])
    func modes(umask: String) async throws {
      _ = directory.write("deny.txt", "left-alone\n")
      #expect(mkdir(directory.file("made"), 0o755) == 0 && chmod(directory.file("made"), 0o755) == 0)
      let upstream = try ScriptedUpstream { request in request.number == 1 ? .accept(rejected: [0: "x"]) : .accept() }
      let hook = try ScriptedUpstream { _ in .answer(204) }
      let settings = settings(upstream, hook)
      var relay = try await RelayProcess(directory, settings, under: shell(umask))
      try await relay.accept((0..<40).map { TestEvent($0) })
      try await relay.accept((0..<5).map { TestEvent($0, install: "left-alone") })
      try await relay.accept([TestEvent(50)], key: "another-key")
      #expect(try await relay.flush() == 0)
      try await relay.reload(settings, in: directory)
      #expect(open(["deny.txt", "relay.yaml", "made"]) == [])
      let configuration = ["--config", directory.file("relay.yaml")]
      for words in [
        ["dead-letters", "replay"], ["replay", "--to", "upstream", "--from-log"],
        ["replay", "--to", "raw", "--from-archive", directory.file("archive")],
      ] {
        let ran = try await eventRelay(words + configuration)
        #expect(ran.exitCode == 0, "\(words): \(ran.errors)")
      }
      try await relay.accept([TestEvent(60)])
      try await relay.crash()
      try tear()
      relay = try await RelayProcess(directory, settings, under: shell(umask))
      try await relay.accept([TestEvent(70)])
      #expect(try await relay.flush() == 0)
      var without = settings
      without.further = ""
      try await relay.reload(without, in: directory)
      #expect(open(["deny.txt", "relay.yaml", "made"]) == [])
      #expect(try await relay.stop() == 0)

      let data = (FileManager.default.enumerator(atPath: directory.file("data"))?.allObjects ?? []).map { "\($0)" }
      for part in [
        "addresses.json", "audit.ndjson", "dead-letters/", "dedupe/", "instance", "keys", "lock", "log/segment-",
        "log/torn-", "positions/", "removed-sinks", "replays/", "suppressed",
      ] {
        #expect(data.contains { $0.hasPrefix(part) }, "nothing was looked at of \(part): \(data)")
      }
      #expect(open(["deny.txt", "relay.yaml", "made"]) == [])
      var status = stat()
      #expect(stat(directory.file("made"), &status) == 0 && status.st_mode & 0o777 == 0o755)
    }

    @Test("of the stand-in upstream are private too", arguments: ["000", "077"])
    func standIn(umask: String) async throws {
      let relay = try await RelayProcess(
        directory, RelaySettings(hasSink: false), "--stand-in", under: shell(umask))
      try await relay.accept([TestEvent(1)])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.stop() == 0)
      #expect(open(["relay.yaml"]) == [])
    }

    @Test("that others may read are told at the start, and left as they are")
    func told() async throws {
      let settings = RelaySettings(hasSink: false)
      var relay = try await RelayProcess(directory, settings)
      #expect(try await relay.stop() == 0)
      #expect(!relay.process.errorText.contains("others than the relay's user"))
      chmod(directory.file("data/instance"), 0o644)
      relay = try await RelayProcess(directory, settings)
      let line = try #require(await relay.process.waitForLine("others than the relay's user may use files"))
      #expect(line.contains("data/instance (0644)") && line.contains("chmod -R go-rwx"))
      #expect(try await relay.stop() == 0)
      var status = stat()
      #expect(stat(directory.file("data/instance"), &status) == 0 && status.st_mode & 0o777 == 0o644)
    }

    @Test("are all a user without rights needs: everything works as nobody", .enabled(if: ForeignUser.canBeUsed))
    func unprivileged() async throws {
      _ = directory.write("deny.txt", "left-alone\n")
      let upstream = try ScriptedUpstream()
      let settings = settings(upstream, upstream)
      _ = settings.write(in: directory)
      let program = try ForeignUser.settle(in: directory)
      let relay = try await RelayProcess(directory, settings, under: ForeignUser.command, program: program)
      #expect(!relay.process.errorText.contains("runs as root"))
      try await relay.accept((0..<20).map { TestEvent($0) })
      #expect(try await relay.flush() == 0)
      try await relay.reload(settings, in: directory)
      let asked = try ChildProcess(
        Array(ForeignUser.command.dropFirst()) + [program, "doctor", "--config", directory.file("relay.yaml")],
        program: ForeignUser.command[0])
      #expect(await asked.wait() == 0, "\(asked.outputText)\(asked.errorText)")
      #expect(try await relay.stop() == 0)
      let owned = (FileManager.default.enumerator(atPath: directory.path)?.allObjects ?? []).map { "\($0)" }
      #expect(
        owned.allSatisfy { name in
          var status = stat()
          return lstat(directory.file(name), &status) == 0 && status.st_uid == ForeignUser.id
        })
    }

    @Test("are told to be root's when root runs it", .enabled(if: geteuid() == 0))
    func root() async throws {
      let relay = try await RelayProcess(directory, RelaySettings(hasSink: false))
      #expect(relay.process.errorText.contains("the relay runs as root"))
      #expect(try await relay.stop() == 0)
    }
  }
}
