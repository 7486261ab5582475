import CZlib
import HTTPServer
import Observability
import Synchronization
import TestSupport
import Testing

/// A handler made of closures. By itself it reads bodies of up to 1,000 bytes and sends them back.
struct TestHandler: HTTPHandler {
  var onHead: @Sendable (any HTTPExchange) -> HeadDecision = { _ in .readBody(limit: 1000) }
  var onHandle: @Sendable (any HTTPExchange) -> Void = { exchange in
    exchange.respond(HTTPResponse(status: 200, body: Array(exchange.body)))
  }

  func head(of exchange: any HTTPExchange) -> HeadDecision { onHead(exchange) }
  func handle(_ exchange: any HTTPExchange) { onHandle(exchange) }

  func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse {
    let status =
      switch fault {
      case .bodyTooLarge: 413
      case .unsupportedEncoding: 415
      case .undecodableBody, .badFraming: 400
      case .bodyTimeout: 408
      case .overloaded: 503
      }
    return HTTPResponse(status: status, body: Array("\(fault)".utf8))
  }
}

/// A server on a port of the kernel's choice, for the time of one test.
func withServer(
  _ handler: TestHandler = TestHandler(), listen: [ListenAddress] = [.tcp(host: "127.0.0.1", port: 0)],
  configure: (inout HTTPServerConfiguration) -> Void = { _ in },
  _ body: (HTTPServer, Int) async throws -> Void
) async throws {
  var configuration = try HTTPServerConfiguration(inModeOfTest: listen)
  // Long, since a test that shares its cores with hundreds of others may be slow; those of deadlines set their own.
  configuration.headerTimeout = .seconds(600)
  configuration.bodyTimeout = .seconds(600)
  configuration.idleTimeout = .seconds(600)
  configure(&configuration)
  let server = HTTPServer(configuration, handler: handler, logger: .silent)
  try server.start()
  var port = 0
  if case .tcp(_, let taken)? = server.addresses.first { port = taken }
  do {
    try await body(server, port)
  } catch {
    await server.stop(until: .now)
    throw error
  }
  await server.stop(until: .now)
}

/// The port of one of a server's addresses.
func tcpPort(of server: HTTPServer, at index: Int = 0) throws -> Int {
  let port: Int? = if case .tcp(_, let port) = server.addresses[index] { port } else { nil }
  return try #require(port)
}

extension HTTPServerConfiguration {
  /// As the test is run: plain, or with TLS.
  init(inModeOfTest listen: [ListenAddress]) throws {
    self.init(listen: listen)
    if TLSClient.current != nil { tls = try TestIdentity.shared.get() }
  }
}

/// What servers show in tests.
enum TestIdentity {
  static let shared = Result { try identity(TestCertificate("relay.test")) }

  static func identity(_ files: TestCertificate, clients: TestCertificate? = nil, takesOwn: Bool = false) throws
    -> TLSIdentity
  {
    try TLSIdentity(
      TLSIdentity.Parts(
        certificate: readFile(files.certificate) ?? [], key: readFile(files.key) ?? [],
        clientAuthorities: clients.map { readFile($0.certificate) ?? [] }, takesOwnCertificate: takesOwn))
  }
}

/// Runs each test of a suite twice: over plain connections, and over TLS where this machine can make a certificate.
struct PlainAndTLS: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    guard testCase != nil, TestCertificate.canBeMade else { return }
    try await TLSClient.$current.withValue(TLSClient(), operation: function)
  }
}

extension Trait where Self == PlainAndTLS {
  static var plainAndTLS: PlainAndTLS { PlainAndTLS() }
}

/// Exchanges that were handed out and not answered, for tests that answer them when they like.
final class Held: Sendable {
  let exchanges = Fact<[any HTTPExchange]>([])

  var handler: TestHandler {
    TestHandler(onHandle: { exchange in self.exchanges.change { $0.append(exchange) } })
  }

  /// Waits for so many, and returns them.
  func wait(for count: Int) async -> [any HTTPExchange] {
    await exchanges.wait { $0.count >= count } ?? []
  }
}

/// A request with a body as it goes over the wire.
func post(_ body: [UInt8], path: String = "/", headers: String = "") -> [UInt8] {
  Array("POST \(path) HTTP/1.1\r\nHost: test\r\nContent-Length: \(body.count)\r\n\(headers)\r\n".utf8) + body
}

func post(_ body: String, path: String = "/", headers: String = "") -> [UInt8] {
  post(Array(body.utf8), path: path, headers: headers)
}

enum Compression: Int32, CaseIterable {
  case gzip = 31
  case zlib = 15
  case deflate = -15
}

func compressed(_ bytes: [UInt8], _ format: Compression = .gzip) -> [UInt8] {
  var stream = z_stream()
  precondition(zlib_deflate_init(&stream, 9, format.rawValue) == Z_OK)
  defer { deflateEnd(&stream) }
  var input = bytes
  var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
  return input.withUnsafeMutableBufferPointer { input in
    output.withUnsafeMutableBufferPointer { output in
      stream.next_in = input.baseAddress
      stream.avail_in = UInt32(input.count)
      stream.next_out = output.baseAddress
      stream.avail_out = UInt32(output.count)
      precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END)
      return Array(output[..<(output.count - Int(stream.avail_out))])
    }
  }
}
