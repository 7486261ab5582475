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
}

/// `openssl s_server` with a certificate of its own for `localhost`.
private final class TLSServer: Sendable {
  static let openssl = "/usr/bin/openssl"

  let port: Int
  let certificate: String
  private let directory: TemporaryDirectory
  private let process: pid_t

  init() throws {
    directory = TemporaryDirectory()
    certificate = directory.file("cert.pem")
    let key = directory.file("key.pem")
    let request = Process()
    request.executableURL = URL(fileURLWithPath: Self.openssl)
    request.arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
      "/CN=localhost",
      "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
    ]
    request.standardError = FileHandle.nullDevice
    try request.run()
    request.waitUntilExit()
    try #require(request.terminationStatus == 0)

    let server = Process()
    server.executableURL = URL(fileURLWithPath: Self.openssl)
    server.arguments = ["s_server", "-accept", "127.0.0.1:0", "-www", "-cert", certificate, "-key", key]
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
