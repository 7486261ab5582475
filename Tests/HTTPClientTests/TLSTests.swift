import Foundation
import HTTPClient
import TestSupport
import Testing

@Suite("TLS", .timeLimit(.minutes(2)), .enabled(if: FileManager.default.isExecutableFile(atPath: TLSServer.openssl)))
struct TLSTests {
  @Test("trusts the given authority and no other, and checks the name")
  func trust() async throws {
    let server = try TLSServer()
    defer { server.stop() }
    try await withClient { client in
      func get(_ host: String, _ caFile: String?) async -> Result<HTTPAnswer, TransportFailure> {
        await client.send(HTTPClientRequest(method: "GET", url: "https://\(host):\(server.port)/", caFile: caFile))
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
            method: "GET", url: "https://localhost:\(server.port)/", caFile: server.certificate,
            clientCertificate: certificate.map { ClientCertificate(certificate: $0.certificate, key: $0.key) }))
      }
      #expect(await get(nil).failure != nil)
      #expect(await get(other).failure != nil)
      #expect(await get(mine).answer?.status == 200)
      // The connection it vouched for serves nobody who doesn't show it.
      #expect(await get(nil).failure != nil)
      let missing = HTTPClientRequest(
        method: "GET", url: "https://localhost:\(server.port)/", caFile: server.certificate,
        clientCertificate: ClientCertificate(certificate: "/nowhere/c.pem", key: "/nowhere/k.pem"))
      let failure = await client.send(missing).failure
      #expect(failure?.kind == .tls)
      #expect(failure?.description.contains("/nowhere/c.pem") == true)
    }
  }
}

/// A certificate for `localhost` that signs itself, and its key.
struct TestCertificate: Sendable {
  let certificate, key: String
  private let directory = TemporaryDirectory()

  init(_ name: String) throws {
    certificate = directory.file("\(name).pem")
    key = directory.file("\(name)-key.pem")
    let request = Process()
    request.executableURL = URL(fileURLWithPath: TLSServer.openssl)
    request.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
      "/CN=\(name)", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
    ]
    request.standardError = FileHandle.nullDevice
    try request.run()
    request.waitUntilExit()
    try #require(request.terminationStatus == 0)
  }
}

/// `openssl s_server` with a certificate of its own for `localhost`.
private final class TLSServer: Sendable {
  static let openssl = "/usr/bin/openssl"

  let port: Int
  private let own: TestCertificate
  private let process: pid_t
  var certificate: String { own.certificate }

  /// - Parameter client: the certificate that clients must show; nil: they needn't.
  init(demanding client: TestCertificate? = nil) throws {
    own = try TestCertificate("localhost")
    let server = Process()
    server.executableURL = URL(fileURLWithPath: Self.openssl)
    server.arguments =
      ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", own.certificate, "-key", own.key]
      + (client.map { ["-Verify", "1", "-verify_return_error", "-CAfile", $0.certificate] } ?? [])
    let output = Pipe()
    // It ends with its input.
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

  func stop() { kill(process, SIGTERM) }
}
