import Foundation
import TestSupport
import Testing

/// What judges units, where it is installed.
private enum Systemd {
  static let analyze = "/usr/bin/systemd-analyze"
  static let isThere = FileManager.default.isExecutableFile(atPath: analyze)
}

extension EndToEnd {
  @Suite("The systemd unit")
  struct ServiceUnitTests {
    private static let root: String = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path
    private static let unit: String = "\(root)/Deploy/systemd/event-relay.service"

    private let directory = TemporaryDirectory()

    private func analyze(_ words: String...) async throws -> CommandResult {
      let child = try ChildProcess(words, program: Systemd.analyze)
      return CommandResult(
        exitCode: try #require(await child.wait()), output: child.outputText, errors: child.errorText)
    }

    @Test("is shut off from the machine: its exposure is below 2.0", .enabled(if: Systemd.isThere))
    func exposure() async throws {
      // (The threshold is in tenths.)
      let judged = try await analyze("--no-pager", "security", "--offline=true", "--threshold=19", Self.unit)
      let line = judged.output.split(separator: "\n").last { $0.contains("Overall exposure level") }
      #expect(judged.exitCode == 0 && line != nil, "\(line ?? "")\(judged.errors)")
    }

    @Test(
      "is a unit that systemd understands, but for the program, which isn't installed here",
      .enabled(if: Systemd.isThere))
    func understood() async throws {
      let copy = directory.write(
        "event-relay.service",
        String(decoding: try #require(readFile(Self.unit)), as: UTF8.self)
          .replacingOccurrences(of: "/usr/local/bin/event-relay", with: "/bin/true"))
      let verified = try await analyze("--no-pager", "verify", copy)
      #expect(!verified.errors.contains("event-relay.service"), "\(verified.errors)")
      // (That it names what it doesn't understand is what makes its silence worth something.)
      let spoilt = directory.write(
        "event-relay.service",
        String(decoding: try #require(readFile(copy)), as: UTF8.self) + "\n[Service]\nNoSuchKey=1\n")
      #expect(try await analyze("--no-pager", "verify", spoilt).errors.contains("NoSuchKey"))
    }

    @Test(
      "leaves the relay all it needs: as nobody, without privileges, and with the unit's system calls, it does everything",
      .enabled(if: Systemd.isThere && ForeignUser.canBeUsed))
    func enough() async throws {
      let upstream = try ScriptedUpstream()
      var settings = RelaySettings(upstream: upstream, intake: ", dedupe: { window: 1d }", hasSink: false)
      settings.further = """
        sinks:
          - { name: raw, type: ndjson, path: ./raw/%app/%H.ndjson, rotate: { size: 1KiB } }
          - { name: audit, type: archive, path: ./archive, rotate: { size: 1KiB } }
          - { name: hook, type: webhook, url: "\(upstream.url)", linger: 0s }
        """
      var secured = settings
      let certificate = TestCertificate.canBeMade ? try TestCertificate("relay", in: directory, days: 60) : nil
      if let certificate {
        secured.adminKeys = ", tls: { certificate: \(certificate.certificate), key: \(certificate.key) }"
      }
      _ = settings.write(in: directory)
      let program = try ForeignUser.settle(in: directory)
      let notify = try NotifySocket(directory.file("notify"))
      chmod(notify.path, 0o666)
      let confined = ["/usr/bin/env", "python3", "\(Self.root)/Tests/Tools/under_unit.py", Self.unit]
      var relay = try await RelayProcess(
        directory, settings, under: confined, program: program,
        environment: ["NOTIFY_SOCKET": notify.path, "WATCHDOG_USEC": "100000"])
      #expect(await notify.messages.wait { $0.contains("READY=1") && $0.contains("WATCHDOG=1") } != nil)
      try await relay.accept((0..<300).map { TestEvent($0) })
      #expect(try await relay.flush() == 0)
      try await relay.reload(settings, in: directory)
      #expect(try await relay.admin("GET", "/metrics").text.contains("process_open_fds"))
      #expect(try await relay.stop() == 0)
      // Again, over what is there now, with TLS, as commands see it.
      relay = try await RelayProcess(directory, secured, under: confined, program: program)
      let status = try await eventRelay("doctor", "--config", directory.file("relay.yaml"))
      #expect(status.exitCode == 0, "\(status.output)\(status.errors)")
      try await relay.accept((300..<310).map { TestEvent($0) })
      #expect(try await relay.stop() == 0)
      #expect(!relay.process.errorText.contains(" ERROR "), "\(relay.process.errorText)")
    }
  }
}
