import Foundation
import HTTPClient
import TestSupport
import Testing

@Suite("TLS", .timeLimit(.minutes(2)), .enabled(if: TestCertificate.canBeMade))
struct TLSTests {
  @Test("trusts the given authority and no other, and checks the name")
  func trust() async throws {
    let server = try TLSServer()
    defer { server.stop() }
    try await withClient { client in
      func get(_ host: String, _ caFile: String?) async -> Result<HTTPAnswer, TransportFailure> {
        await client.send(
          HTTPClientRequest(method: "GET", url: "https://\(host):\(server.port)/", caFile: caFile.map(PEMSource.file)))
      }
      let unknown = await get("localhost", nil)
      #expect(unknown.failure?.kind == .tls)
      #expect(unknown.failure?.description.contains("certificate") == true)
      #expect(await get("localhost", server.certificate).answer?.status == 200)
      #expect(await get("127.0.0.1", server.certificate).failure?.kind == .tls)
      // A connection that one authority vouched for must not serve a request that trusts another.
      #expect(await get("localhost", nil).failure?.kind == .tls)
    }
  }

  @Test("shows its certificate to who asks for one, and only then gets through")
  func clientCertificate() async throws {
    let (mine, other) = (try TestCertificate("client"), try TestCertificate("other"))
    let server = try TLSServer(demanding: mine)
    defer { server.stop() }
    try await withClient { client in
      func get(_ certificate: TestCertificate?) async -> Result<HTTPAnswer, TransportFailure> {
        await client.send(
          HTTPClientRequest(
            method: "GET", url: "https://localhost:\(server.port)/", caFile: .file(server.certificate),
            clientCertificate: certificate.map {
              ClientCertificate(certificate: .file($0.certificate), key: .file($0.key))
            }))
      }
      #expect(await get(nil).failure != nil)
      #expect(await get(other).failure != nil)
      #expect(await get(mine).answer?.status == 200)
      // The connection it vouched for serves nobody who doesn't show it.
      #expect(await get(nil).failure != nil)
      let missing = HTTPClientRequest(
        method: "GET", url: "https://localhost:\(server.port)/", caFile: .file(server.certificate),
        clientCertificate: ClientCertificate(certificate: .file("/nowhere/c.pem"), key: .file("/nowhere/k.pem")))
      let failure = await client.send(missing).failure
      #expect(failure?.kind == .tls)
      #expect(failure?.description.contains("/nowhere/c.pem") == true)
    }
  }
}

@Suite(
  "TLS with what was in files", .timeLimit(.minutes(2)),
  .enabled(if: TestCertificate.canBeMade))
struct TLSBytesTests {
  @Test("works when the files are gone, and a connection serves nobody who shows or trusts something else")
  func bytes() async throws {
    let (mine, other) = (try TestCertificate("client"), try TestCertificate("other"))
    let server = try TLSServer(demanding: mine)
    defer { server.stop() }
    let trusted = PEMSource(try #require(readFile(server.certificate)))
    let shown = ClientCertificate(
      certificate: PEMSource(try #require(readFile(mine.certificate))), key: PEMSource(try #require(readFile(mine.key)))
    )
    let others = ClientCertificate(
      certificate: PEMSource(try #require(readFile(other.certificate))),
      key: PEMSource(try #require(readFile(other.key))))
    for path in [mine.certificate, mine.key, server.certificate] { unlink(path) }
    try await withClient { client in
      func get(_ authorities: PEMSource?, _ certificate: ClientCertificate?) async -> Result<
        HTTPAnswer, TransportFailure
      > {
        await client.send(
          HTTPClientRequest(
            method: "GET", url: "https://localhost:\(server.port)/", caFile: authorities, clientCertificate: certificate
          ))
      }
      for _ in 0..<2 {
        #expect(await get(trusted, shown).answer?.status == 200)
        #expect(await get(nil, shown).failure?.kind == .tls)
        #expect(await get(trusted, others).failure != nil)
        #expect(await get(trusted, nil).failure != nil)
        #expect(await get(PEMSource(Array("no certificate".utf8)), shown).failure?.kind == .tls)
      }
    }
  }
}

/// `openssl s_server` with a certificate of its own for `localhost`.
private final class TLSServer: Sendable {
  let port: Int
  private let own: TestCertificate
  private let process: pid_t
  var certificate: String { own.certificate }

  /// - Parameter client: the certificate that clients must show; nil: they needn't.
  init(demanding client: TestCertificate? = nil) throws {
    own = try TestCertificate("localhost")
    let server = Process()
    server.executableURL = URL(fileURLWithPath: TestCertificate.openssl)
    server.arguments =
      ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", own.certificate, "-key", own.key]
      + (client.map { ["-Verify", "1", "-verify_return_error", "-CAfile", $0.certificate] } ?? [])
    let output = Pipe()
    server.standardInput = Pipe()
    server.standardOutput = output
    server.standardError = FileHandle.nullDevice
    try server.run()
    process = server.processIdentifier
    // It says `ACCEPT 127.0.0.1:port` when it listens.
    var text = ""
    while !text.contains("ACCEPT") || !text.hasSuffix("\n") {
      let piece = output.fileHandleForReading.availableData
      try #require(!piece.isEmpty, "openssl s_server ended")
      text += String(decoding: piece, as: UTF8.self)
    }
    let line = try #require(text.split(separator: "\n").first { $0.contains("ACCEPT") })
    port = try #require(line.split(separator: ":").last.flatMap { Int($0) })
  }

  // (It may have SIGTERM blocked, from the thread that started it.)
  func stop() { kill(process, SIGKILL) }
}
