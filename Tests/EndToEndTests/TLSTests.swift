import Foundation
import JSON
import TestSupport
import Testing

extension EndToEnd {
  @Suite("TLS", .enabled(if: TestCertificate.canBeMade))
  struct TLSTests {
    private let directory = TemporaryDirectory()
    private let authority: TestCertificate
    private let sender: TestCertificate

    init() throws {
      authority = try TestCertificate("authority", in: directory, days: 90)
      sender = try TestCertificate("sender", in: directory, days: 90, signedBy: authority, purpose: "clientAuth")
    }

    /// Puts a certificate and its key where the configuration has them.
    private func put(_ certificate: TestCertificate) throws {
      for (from, to) in [(certificate.key, "relay-key.pem"), (certificate.certificate, "relay.pem")] {
        _ = directory.write("\(to).new", String(decoding: try #require(readFile(from)), as: UTF8.self))
        #expect(rename(directory.file("\(to).new"), directory.file(to)) == 0)
      }
    }

    private func settings(_ upstream: ScriptedUpstream) -> RelaySettings {
      let tls = "tls: { certificate: relay.pem, key: relay-key.pem, client_ca: authority.pem }"
      return RelaySettings(upstream: upstream, intake: ", \(tls)", hasSink: false, adminKeys: ", \(tls)")
    }

    /// What the relay answers to a request over a connection of its own; nil when it refuses the client.
    private func ask(
      _ address: TestAddress, _ request: String, _ body: [UInt8] = [], as client: TestCertificate?
    ) async throws -> RawClient.Response? {
      guard case .tcp(let host, let port) = address else { return nil }
      let connection = try RawClient(host: host, port: Int(port), tls: TLSClient(identity: client))
      await connection.send(
        Array("\(request) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
      return try? await connection.response()
    }

    private func post(_ event: TestEvent, to relay: RelayProcess, as client: TestCertificate?) async throws -> Int? {
      try await ask(relay.ingest[0], "POST /v1/events", TestEvent.batch([event]), as: client)?.status
    }

    /// The certificate that a listener shows.
    private func shown(_ address: TestAddress) async throws -> [UInt8]? {
      guard case .tcp(let host, let port) = address else { return nil }
      return try await RawClient(host: host, port: Int(port), tls: TLSClient(identity: sender)).handshake()?.certificate
    }

    private func command(_ words: String...) async throws -> CommandResult {
      try await eventRelay(words + ["--config", directory.file("relay.yaml")])
    }

    @Test("carries events, and every command asks an admin listener that wants certificates, without an option")
    func everything() async throws {
      let upstream = try ScriptedUpstream()
      try put(try TestCertificate("relay.test", in: directory, days: 60))
      var settings = settings(upstream)
      settings.apps = "apps: [{ name: ios, write_key: aso_wk_test, default: true }]"
      let relay = try await RelayProcess(directory, settings)
      let event = TestEvent(1)
      #expect(try await post(event, to: relay, as: nil) == nil)
      #expect(try await post(event, to: relay, as: sender) == 200)
      for (words, text) in [
        (["flush", "--timeout", "20s"], "0 still waiting"), (["status"], "admin by TLS"), (["doctor"], "good until"),
        (["where", event.id], "seq 1,"), (["dead-letters", "list"], ""), (["drain"], ""), (["drain", "--stop"], ""),
        (["check"], "(TLS, clients with a certificate)"),
      ] {
        let ran = try await eventRelay(words + ["--config", directory.file("relay.yaml")])
        let isThere = text.isEmpty || ran.output.contains(text)
        #expect(ran.exitCode == 0 && isThere, "\(words): \(ran.output)\(ran.errors)")
      }
      let metrics = try #require(try await ask(relay.admin, "GET /metrics", as: sender)).text
      for door in ["ingest", "admin"] {
        let line = metrics.split(separator: "\n").first {
          $0.hasPrefix("event_relay_tls_certificate_expiry_seconds{listener=\"\(door)\"} ")
        }
        let end = try #require(line.flatMap { Double($0.split(separator: " ")[1]) })
        #expect(abs(end - Date.now.timeIntervalSince1970 - 60 * 86_400) < 3600)
      }
      #expect(metrics.contains("event_relay_tls_failed_handshakes_total{listener=\"ingest\"} 1\n"))
      #expect(metrics.contains("event_relay_tls_failed_handshakes_total{listener=\"admin\"} 0\n"))
      #expect(!relay.process.errorText.contains("in less than 14 days"))
      #expect(try await relay.stop() == 0)
    }

    @Test("sends with send, which is told whom to trust and what to show")
    func send() async throws {
      let upstream = try ScriptedUpstream()
      let own = try TestCertificate("relay.test", in: directory, days: 60)
      try put(own)
      let relay = try await RelayProcess(directory, settings(upstream))
      let file = directory.write("events.ndjson", String(decoding: TestEvent(1).bytes, as: UTF8.self))
      // (By a name that is in the certificate.)
      let url = relay.ingest[0].authority.replacing("127.0.0.1", with: "https://localhost")
      let trust = ["--ca-file", own.certificate]
      let identity = ["--client-certificate", sender.certificate, "--client-key", sender.key]
      for (options, code) in [([], 1), (trust, 1), (identity, 1), (trust + identity, 0)] as [([String], Int32)] {
        let ran = try await eventRelay(
          ["send", "--to", url, "--key", "aso_wk_test", "--retries", "0"] + options + [file])
        #expect(ran.exitCode == code, "\(options): \(ran.output)\(ran.errors)")
      }
      for options in [["--client-key", sender.key], ["--ca-file", "/none.pem"]] {
        #expect(try await eventRelay(["send", "--to", url] + options + [file]).exitCode == 2)
      }
      #expect(try await eventRelay(["send", "--to", "http://127.0.0.1:1"] + trust + [file]).exitCode == 2)
      #expect(try await relay.stop() == 0)
    }

    @Test("shows a changed certificate without a restart; a bad one is refused, told, and changes nothing")
    func changed() async throws {
      let upstream = try ScriptedUpstream()
      let first = try TestCertificate("one.test", in: directory, days: 60)
      try put(first)
      let settings = settings(upstream)
      let relay = try await RelayProcess(directory, settings)
      let (host, port) = try #require(relay.ingest[0].hostAndPort)
      let open = try RawClient(host: host, port: Int(port), tls: TLSClient(identity: sender))
      let before = try #require(await open.handshake()).certificate
      // The files are looked at by themselves, too: whoever comes first.
      try put(try TestCertificate("two.test", in: directory, days: 10))
      let answer = try #require(try await ask(relay.admin, "POST /reload", as: sender))
      #expect(answer.status == 200)
      let after = try #require(try await shown(relay.ingest[0]))
      #expect(after != before)
      #expect(try await shown(relay.admin) == after)
      await open.send("GET /none HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await open.response().status == 404)
      await relay.process.waitForLine("a certificate ends in less than 14 days")
      let soon = try await doctor(directory)
      #expect(soon.exitCode == 1 && soon.has("certificate ingest", "in less than 14 days"))

      _ = directory.write("relay-key.pem", String(decoding: try #require(readFile(first.key)), as: UTF8.self))
      let refused = try #require(try await ask(relay.admin, "POST /reload", as: sender))
      #expect(refused.status == 422 && refused.text.contains("is not the key of the certificate in"))
      _ = directory.write("relay.pem", "")
      #expect(try await ask(relay.admin, "POST /reload", as: sender)?.status == 422)
      #expect(try await shown(relay.ingest[0]) == after)
      #expect(try await post(TestEvent(1), to: relay, as: sender) == 401)
      #expect(try await relay.stop() == 0)
      // With files like these it doesn't start.
      let started = try await command("run")
      #expect(started.exitCode == 2 && started.errors.contains("ingest.tls.certificate"))
    }

    @Test(
      "a certificate that takes the token's place is asked of connections that are open, too, and again when it changes"
    )
    func swapped() async throws {
      try put(try TestCertificate("relay.test", in: directory, days: 60))
      let stranger = try TestCertificate("stranger", in: directory, days: 90)
      func settings(token: String, _ authority: TestCertificate?) -> RelaySettings {
        let named = authority.map { ", client_ca: \($0.certificate)" } ?? ""
        return RelaySettings(
          hasSink: false, adminToken: token, adminKeys: ", tls: { certificate: relay.pem, key: relay-key.pem\(named) }")
      }
      let relay = try await RelayProcess(directory, settings(token: "correct-horse-battery", nil))
      let (host, port) = try #require(relay.admin.hostAndPort)
      func connect(as client: TestCertificate?) async throws -> RawClient {
        let connection = try RawClient(host: host, port: Int(port), tls: TLSClient(identity: client))
        #expect(try await answer(connection, "GET /livez") == 200)
        return connection
      }
      func answer(_ connection: RawClient, _ request: String, _ header: String = "X: y") async throws -> Int {
        await connection.send("\(request) HTTP/1.1\r\nHost: localhost\r\n\(header)\r\nContent-Length: 0\r\n\r\n")
        return try await connection.response().status
      }
      let early = try await connect(as: nil)
      let late = try await connect(as: nil)
      let operatorsOwn = try await connect(as: nil)
      _ = settings(token: "~", authority).write(in: directory)
      #expect(try await answer(operatorsOwn, "POST /reload", "Authorization: Bearer correct-horse-battery") == 200)
      #expect(try await answer(early, "POST /drain") == 421)
      #expect(try await answer(late, "GET /livez") == 421)
      await #expect(throws: (any Error).self) { _ = try await answer(late, "GET /livez") }
      await #expect(throws: (any Error).self) { _ = try await connect(as: nil) }
      // Other authorities: whom the last ones let in is to show a certificate of theirs.
      let known = try await connect(as: sender)
      #expect(try await answer(known, "GET /status") == 200)
      _ = settings(token: "~", stranger).write(in: directory)
      #expect(try await answer(known, "POST /reload") == 200)
      #expect(try await answer(known, "POST /drain") == 421)
      // The relay's own certificate is another matter: whom the same authorities have let in stays.
      let asked = try await connect(
        as: TestCertificate("asker", in: directory, signedBy: stranger, purpose: "clientAuth"))
      try put(try TestCertificate("two.test", in: directory, days: 60))
      #expect(try await answer(asked, "POST /reload") == 200)
      #expect(try await answer(asked, "GET /status") == 200)
      #expect(try await relay.stop() == 0)
    }

    @Test("a command knows the running relay by its key even when the file holds another, and no other relay")
    func known() async throws {
      let upstream = try ScriptedUpstream()
      try put(try TestCertificate("one.test", in: directory, days: 60))
      var settings = settings(upstream)
      settings.adminKeys = ", tls: { certificate: relay.pem, key: relay-key.pem }"
      let relay = try await RelayProcess(directory, settings)
      // A certificate that the relay can't take up stands in the file: commands find the one that is in use.
      _ = directory.write(
        "relay.pem", String(decoding: try #require(readFile(authority.certificate)), as: UTF8.self))
      #expect(try await command("status").exitCode == 0)
      // Without what the relay has left, only the file's counts, which is another's.
      let book = directory.file("data/addresses.json")
      let text = String(decoding: try #require(readFile(book)), as: UTF8.self)
      let pin = try #require(text.firstRange(of: /,"admin_key":"[^"]*"/))
      _ = directory.write("data/addresses.json", text.replacingCharacters(in: pin, with: ""))
      let stranger = try await command("status")
      #expect(stranger.exitCode == 1 && stranger.errors.contains("pinned public key"), "\(stranger.errors)")
      #expect(stranger.errors.contains("has admin.tls changed since the relay's start?"))
      #expect(try await relay.stop() == 0)
    }
  }
}
