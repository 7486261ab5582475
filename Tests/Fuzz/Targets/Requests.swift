import Glibc
import HTTPServer
import Observability
import Synchronization

/// Bytes on a connection to a real server: heads, chunks, pipelined requests.
///
/// The server always answers or closes, and goes on; the answers are well-formed; and of the requests at the front that are
/// beyond doubt by RFC 9112 each arrives with its own body.
enum RequestCheck {
  @Sendable static func check(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
    let server = try promised(Bench.shared, "there is no server")
    server.handler.forget()
    let answers = try promised(server.exchange(bytes), "the server neither answers nor closes")
    let arrived = server.handler.arrived
    try checkAnswers(answers, mayBeToHead: Array(bytes).firstRange(of: Array("HEAD".utf8)) != nil)
    let plain = PlainRequests(bytes).requests
    for (at, request) in plain.enumerated() {
      guard at < arrived.count else {
        throw BrokenPromise(
          description: "a plain request doesn't arrive: number \(at + 1), \(answers.count) bytes back")
      }
      try promise(arrived[at] == request, "request \(at + 1) arrives otherwise: \(arrived[at].body.count) bytes")
    }
  }

  /// Answers one behind the other, each with its length.
  private static func checkAnswers(_ bytes: [UInt8], mayBeToHead: Bool) throws(BrokenPromise) {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let end = rest.firstRange(of: Array("\r\n\r\n".utf8)) else {
        throw BrokenPromise(description: "an answer's head has no end")
      }
      let head = String(decoding: rest[..<end.lowerBound], as: UTF8.self)
      try promise(head.hasPrefix("HTTP/1."), "an answer doesn't begin as one")
      let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      try promise((100...599).contains(status), "an answer has the status \(status)")
      rest = rest[end.upperBound...]
      guard status >= 200 else { continue }
      // (The HTTP library's own answer to a length that it can't read has its head twice. The connection ends with it.)
      if status >= 400, head.contains("Connection: close"), rest.starts(with: Array("HTTP/1.".utf8)) { return }
      let length =
        head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
        .flatMap { Int($0.dropFirst(16)) } ?? 0
      // (A HEAD request's answer has the length and no body: this one's handler answers with none, but a refusal has one.)
      if rest.isEmpty, mayBeToHead, status >= 400 { return }
      try promise(rest.count >= length, "an answer is cut off")
      rest = rest.dropFirst(length)
    }
  }
}

/// A request as it arrived.
struct ArrivedRequest: Equatable {
  var method: String
  var path: String
  var body: [UInt8]
}

/// Takes every request, and notes it.
private final class NotingHandler: HTTPHandler {
  private let noted = Mutex<[ArrivedRequest]>([])

  var arrived: [ArrivedRequest] { noted.withLock { $0 } }

  func forget() { noted.withLock { $0 = [] } }

  func head(of exchange: any HTTPExchange) -> HeadDecision { .readBody(limit: 1 << 16) }

  func handle(_ exchange: any HTTPExchange) {
    let request = ArrivedRequest(method: exchange.method, path: exchange.path, body: Array(exchange.body))
    noted.withLock { $0.append(request) }
    exchange.respond(HTTPResponse(status: 204))
  }

  func fault(_ fault: HTTPFault, of exchange: any HTTPExchange) -> HTTPResponse { HTTPResponse(status: 400) }
}

/// A server on a unix socket, for as long as the process lives.
private final class Bench: Sendable {
  static let shared = Bench()

  let handler = NotingHandler()
  private let path: String
  private let server: HTTPServer

  private init?() {
    path = "/tmp/event-relay-fuzz-\(getpid()).sock"
    let path = path
    unlink(path)
    server = HTTPServer(
      HTTPServerConfiguration(
        listen: [.unix(path: path)], headerTimeout: .seconds(2), bodyTimeout: .seconds(2), idleTimeout: .seconds(2)),
      handler: handler, logger: .silent)
    guard (try? server.start()) != nil else { return nil }
    // (It goes with the process; its socket wouldn't.)
    atexit { unlink("/tmp/event-relay-fuzz-\(getpid()).sock") }
  }

  /// Sends all, says that nothing more comes, and returns what comes back; nil when the server doesn't close.
  func exchange(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard connected == 0 else { return nil }
    var sent = 0
    while sent < bytes.count {
      let count = send(descriptor, bytes.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      if count < 0, errno == EINTR { continue }
      if count <= 0 { break }
      sent += count
    }
    shutdown(descriptor, Int32(SHUT_WR))
    return answers(descriptor)
  }

  private func answers(_ descriptor: Int32) -> [UInt8]? {
    var out: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count > 0 {
        out += chunk[..<count]
      } else if count < 0, errno == EINTR {
        // (libFuzzer's own alarm, every few seconds.)
        continue
      } else {
        return count == 0 || errno == ECONNRESET ? out : nil
      }
    }
  }
}
