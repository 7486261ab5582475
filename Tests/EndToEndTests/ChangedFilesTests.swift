import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("Files of keys and certificates that change on disk")
  struct ChangedFilesTests {
    private let directory = TemporaryDirectory()
    private let events = (0..<10).map { TestEvent($0) }

    @Test("a write key's file is read again by itself; one that holds none is told, and the key before stays")
    func writeKey() async throws {
      let upstream = try ScriptedUpstream()
      var settings = RelaySettings(upstream: upstream, keys: "listed", hasSink: false)
      settings.apps = "apps: [{ name: ios, write_key_file: ./key, accept_keys: [local] }]"
      _ = directory.write("key", "aso_wk_1")
      let relay = try await RelayProcess(directory, settings)
      try await relay.accept([events[0]], key: "local")
      #expect(await upstream.hasTaken([events[0].id]))
      // What else stands in the configuration file by now waits for a reload.
      var unwanted = settings
      unwanted.further = "logging: { level: error }"
      _ = unwanted.write(in: directory)
      _ = directory.write("key", "")
      #expect(await relay.process.waitForLine("a changed file can't be used") != nil)
      _ = directory.write("next", "aso_wk_2")
      rename(directory.file("next"), directory.file("key"))
      #expect(await relay.process.waitForLine("changed files that the configuration names are in use") != nil)
      try await relay.accept([events[1]], key: "local")
      #expect(await upstream.hasTaken([events[1].id]))
      let keys = upstream.record.value.requests.map { $0.headers["x-write-key"] ?? "" }
      #expect(keys == ["aso_wk_1", "aso_wk_2"])
      #expect(try await relay.stop() == 0)
    }

    @Test(
      "a webhook's certificate that a symbolic link brings is shown; one that is of another key is refused",
      .enabled(if: PythonTools.isThere, PythonTools.comment))
    func certificate() async throws {
      let server = try TestCertificate("server", in: directory)
      let (mine, next) = (try TestCertificate("one", in: directory), try TestCertificate("two", in: directory))
      for (name, shown, key) in [("1", mine, mine.key), ("2", next, next.key), ("bad", next, mine.key)] {
        try FileManager.default.createDirectory(atPath: directory.file("..\(name)"), withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: shown.certificate, toPath: directory.file("..\(name)/tls.crt"))
        try FileManager.default.copyItem(atPath: key, toPath: directory.file("..\(name)/tls.key"))
      }
      turn(to: "1")
      for name in ["tls.crt", "tls.key"] { symlink("..data/\(name)", directory.file(name)) }
      // It lets in who shows the second one.
      let (receiver, port) = try await PythonTools.start(
        "tls_receiver.py", server.certificate, server.key, next.certificate)
      var settings = RelaySettings(upstream: try ScriptedUpstream(), hasSink: false)
      settings.further = """
        sinks:
          - name: hook
            type: webhook
            url: "https://localhost:\(port)/in"
            linger: 10ms
            retry: { initial: 20ms, max: 50ms }
            ca_file: \(server.certificate)
            client_certificate: { certificate: ./tls.crt, key: ./tls.key }
        """
      let relay = try await RelayProcess(directory, settings)
      try await relay.accept([events[0]])
      try await lookAgain { try await relay.destination("hook")["last_error"]?.string == nil }
      turn(to: "bad")
      let warning = await relay.process.waitForLine("a changed file can't be used")
      #expect(warning?.contains("is not the key of the certificate") == true, "\(warning ?? "")")
      #expect(!receiver.outputText.contains("\"events\""))
      turn(to: "2")
      #expect(await receiver.output.wait { String(decoding: $0, as: UTF8.self).contains("\"events\": 1") } != nil)
      #expect(await relay.process.waitForLine("changed files that the configuration names are in use") != nil)
      // Taken away, it is still what the relay shows.
      unlink(directory.file("..data"))
      try await relay.accept([events[1]])
      #expect(try await relay.flush() == 0)
      #expect(try await relay.destination("hook")["ledger"]?["delivered"]?.integer() == 2)
      #expect(try await relay.stop() == 0)
    }

    /// Turns the link that all others go through, in one step.
    private func turn(to version: String) {
      symlink("..\(version)", directory.file("..tmp"))
      rename(directory.file("..tmp"), directory.file("..data"))
    }
  }
}
