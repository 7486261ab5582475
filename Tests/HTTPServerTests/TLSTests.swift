import TestSupport
import Testing

@testable import HTTPServer

/// What only TLS has; the other suites run over it too.
@Suite("A server that speaks TLS", .enabled(if: TestCertificate.canBeMade))
struct TLSTests {
  private let authority: TestCertificate
  private let own: TestCertificate
  private let known: TestCertificate

  init() throws {
    authority = try TestCertificate("authority")
    own = try TestCertificate("relay.test")
    known = try TestCertificate("sender", signedBy: authority, purpose: "clientAuth")
  }

  private func answer(_ port: Int, _ tls: TLSClient) async throws -> String? {
    let client = try RawClient(port: port, tls: tls)
    await client.send(post("hello"))
    return await (try? client.response())?.text
  }

  @Test("speaks TLS 1.3 and 1.2, nothing older, and no plain HTTP on the same port")
  func versions() async throws {
    try await withServer(configure: { $0.tls = try? TestIdentity.identity(own) }) { server, port in
      for (version, name) in [(Int32(0), "TLSv1.3"), (0x0303, "TLSv1.2")] {
        let client = try RawClient(port: port, tls: TLSClient(maxVersion: version))
        #expect(await client.handshake()?.version == name)
        await client.send(post("hello"))
        #expect(try await client.response().text == "hello")
      }
      #expect(server.failedHandshakes == 0)
      for version: Int32 in [0x0302, 0x0301] {
        #expect(try await RawClient(port: port, tls: TLSClient(maxVersion: version)).handshake() == nil)
      }
      let plain = try RawClient(port: port, tls: nil)
      await plain.send(post("hello"))
      #expect(try await !String(decoding: plain.readToEnd(), as: UTF8.self).contains("HTTP/"))
      try await lookAgain { server.failedHandshakes < 3 }
    }
  }

  @Test("keeps unix sockets plain")
  func unix() async throws {
    let directory = TemporaryDirectory()
    let path = directory.file("s")
    try await withServer(listen: [.unix(path: path)], configure: { $0.tls = try? TestIdentity.identity(own) }) { _, _ in
      let client = try RawClient(unix: path)
      await client.send(post("plain"))
      #expect(try await client.response().text == "plain")
    }
  }

  @Test("lets in only clients with a certificate of its authorities for clients, in both versions")
  func mutual() async throws {
    let stranger = try TestCertificate("stranger")
    let ended = try TestCertificate("ended", days: -1, signedBy: authority, purpose: "clientAuth")
    let server = try TestCertificate("server", signedBy: authority, purpose: "serverAuth")
    let asked = Fact(0)
    let handler = TestHandler(onHead: { _ in
      asked.change { $0 += 1 }
      return .readBody(limit: 100)
    })
    try await withServer(
      handler, configure: { $0.tls = try? TestIdentity.identity(own, clients: authority) }
    ) { listening, port in
      for version: Int32 in [0, 0x0303] {
        #expect(try await answer(port, TLSClient(maxVersion: version, identity: known)) == "hello")
        for refused in [nil, stranger, ended, server, own] {
          let client = try RawClient(port: port, tls: TLSClient(maxVersion: version, identity: refused))
          await client.send(post("hello"))
          #expect(try await client.readToEnd().isEmpty)
          // It is told why, and not just cut off.
          #expect(await client.tlsError().contains("alert"), "\(refused?.certificate ?? "none")")
        }
      }
      #expect(asked.value == 2)
      try await lookAgain { listening.failedHandshakes < 10 }
    }
  }

  @Test("lets in a client with its own certificate where it is told to")
  func ownCertificate() async throws {
    try await withServer(
      configure: { $0.tls = try? TestIdentity.identity(own, clients: authority, takesOwn: true) }
    ) { _, port in
      #expect(try await answer(port, TLSClient(identity: own)) == "hello")
      #expect(try await answer(port, TLSClient(identity: known)) == "hello")
      let namesake = try TestCertificate("relay.test")
      #expect(try await answer(port, TLSClient(identity: namesake)) == nil)
      #expect(try await answer(port, TLSClient()) == nil)
    }
  }

  @Test("shows another certificate to new connections, while those that are open go on, again and again")
  func otherIdentity() async throws {
    let others = try (0..<3).map { try TestCertificate("relay-\($0).test") }
    try await withServer(configure: { $0.tls = try? TestIdentity.identity(own) }) { server, port in
      var open = [try RawClient(port: port, tls: TLSClient())]
      var shown = [try #require(await open[0].handshake()).certificate]
      for other in others {
        server.setIdentity(try TestIdentity.identity(other))
        // (One that comes before the listener has heard still sees the old one.)
        try await lookAgain {
          let client = try RawClient(port: port, tls: TLSClient())
          let certificate = try #require(await client.handshake()).certificate
          if certificate == shown.last { return true }
          #expect(!shown.contains(certificate))
          shown.append(certificate)
          open.append(client)
          return false
        }
        for client in open {
          await client.send(post("still here"))
          #expect(try await client.response().text == "still here")
        }
      }
      open.removeAll()
      try await lookAgain { server.connections > 0 }
      #expect(server.failedHandshakes == 0)
    }
  }

  @Test("asks for certificates of other authorities from the next connection on")
  func otherAuthorities() async throws {
    let second = try TestCertificate("second")
    let late = try TestCertificate("late", signedBy: second)
    try await withServer(configure: { $0.tls = try? TestIdentity.identity(own, clients: authority) }) { server, port in
      #expect(try await answer(port, TLSClient(identity: late)) == nil)
      server.setIdentity(try TestIdentity.identity(own, clients: second))
      try await lookAgain { try await answer(port, TLSClient(identity: late)) != "hello" }
      #expect(try await answer(port, TLSClient(identity: known)) == nil)
    }
  }

  @Test("cuts a handshake that never comes, stands still or dribbles, at the header's deadline")
  func handshakeDeadline() async throws {
    // A client's first record, without most of it: 512 bytes are announced.
    let start: [UInt8] = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3]
    try await withServer(configure: {
      $0.tls = try? TestIdentity.identity(own)
      $0.headerTimeout = .milliseconds(60)
    }) { server, port in
      for (sent, dribbles) in [([UInt8](), false), (start, false), (start, true)] {
        let client = try RawClient(port: port, tls: nil)
        await client.send(sent)
        if dribbles { await client.dribble(0) }
        _ = try await client.readToEnd()
      }
      try await lookAgain { server.connections > 0 }
      #expect(server.failedHandshakes == 3)
    }
  }

  @Test("ends connections in the midst of their handshakes at once when it stops")
  func stop() async throws {
    var configuration = HTTPServerConfiguration(listen: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.tls = try TestIdentity.identity(own)
    configuration.headerTimeout = .seconds(3600)
    let server = HTTPServer(configuration, handler: TestHandler(), logger: .silent)
    try server.start()
    let port = try tcpPort(of: server)
    let clients = try (0..<5).map { _ in try RawClient(port: port, tls: nil) }
    for client in clients { await client.send([0x16, 3, 1, 2, 0, 1]) }
    try await lookAgain { server.connections < 5 }
    await server.stop(until: .now + .seconds(3600))
    for client in clients { #expect(try await client.readToEnd().isEmpty) }
  }

  @Test("bears what is no TLS at all, and goes on")
  func garbage() async throws {
    try await withServer(configure: { $0.tls = try? TestIdentity.identity(own) }) { server, port in
      var random = SystemRandomNumberGenerator()
      for length in [1, 5, 6, 100, 20_000] {
        for first: [UInt8] in [[], [0x16, 3, 1], [0x17, 3, 3], [0x80]] {
          let client = try RawClient(port: port, tls: nil)
          await client.send(first + (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })
          client.finishWriting()
          _ = try await client.readToEnd()
        }
      }
      #expect(try await answer(port, TLSClient()) == "hello")
    }
  }

  @Test("can't be made of what is no certificate, no key, or not a pair")
  func failures() throws {
    let other = try TestCertificate("other")
    let (certificate, key) = (readFile(own.certificate) ?? [], readFile(own.key) ?? [])
    func failure(_ parts: TLSIdentity.Parts) -> TLSIdentity.Failure? {
      do {
        _ = try TLSIdentity(parts)
        return nil
      } catch {
        return error
      }
    }
    #expect(failure(.init(certificate: certificate, key: key)) == nil)
    for wrong in [
      TLSIdentity.Parts(certificate: [], key: key), .init(certificate: certificate, key: []),
      .init(certificate: certificate, key: readFile(other.key) ?? []),
    ] {
      #expect(failure(wrong)?.part == .certificate)
    }
    for none in [[], Array("nothing".utf8)] {
      #expect(
        failure(.init(certificate: certificate, key: key, clientAuthorities: none))?.part == .clientAuthorities)
    }
  }
}
