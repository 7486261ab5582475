import Foundation
import Synchronization

/// A small HTTP server on a free loopback port: one request a connection, answered by a closure.
///
/// Listens until the process ends: a test's last use of its server is often before the server's own.
final class LoopbackServer: Sendable {
  struct Request: Sendable {
    /// `POST /v1/events`
    var target: String
    /// As they came, in lower case.
    var head: String
    var body: String
  }

  struct Answer: Sendable {
    var status = 200
    var headers: [String] = ["Content-Type: application/json"]
    var body: String
  }

  let port: Int
  private let taken = Taken()

  private final class Taken: Sendable {
    let requests = Mutex<[Request]>([])
  }

  var url: String { "http://127.0.0.1:\(port)" }
  var requests: [Request] { taken.requests.withLock { $0 } }

  /// - Parameter answer: gets the request and how many came before it; nil breaks the connection off.
  init(_ answer: @escaping @Sendable (Request, Int) -> Answer?) {
    let descriptor: Int32
    (descriptor, port) = Self.bound()
    precondition(listen(descriptor, 16) == 0, "can't listen")
    let taken = self.taken
    Thread.detachNewThread {
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        Self.serve(connection, taken, answer)
      }
    }
  }

  /// A port at which nobody answers, and nobody else begins to: it stays bound.
  static func closedPort() -> Int { bound().port }

  private static func bound() -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(descriptor, address, length) == 0 && getsockname(descriptor, address, &length) == 0
      }
    }
    precondition(isBound, "no loopback port")
    return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
  }

  private static func serve(_ connection: Int32, _ taken: Taken, _ answer: (Request, Int) -> Answer?) {
    defer { close(connection) }
    guard let request = read(connection) else { return }
    let before = taken.requests.withLock { taken in
      taken.append(request)
      return taken.count - 1
    }
    guard let answer = answer(request, before) else { return }
    var text = "HTTP/1.1 \(answer.status) X\r\nConnection: close\r\nContent-Length: \(answer.body.utf8.count)\r\n"
    text += answer.headers.map { $0 + "\r\n" }.joined() + "\r\n" + answer.body
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  private static func read(_ connection: Int32) -> Request? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    func more() -> Bool {
      let count = recv(connection, &chunk, chunk.count, 0)
      if count > 0 { bytes += chunk[..<count] }
      return count > 0
    }
    let blank = Array("\r\n\r\n".utf8)
    var headEnd: Int?
    while headEnd == nil {
      guard more() else { return nil }
      headEnd = bytes.firstRange(of: blank)?.upperBound
    }
    let head = String(decoding: bytes[..<headEnd!], as: UTF8.self)
    let length =
      head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) } ?? 0
    if head.lowercased().contains("100-continue") {
      _ = "HTTP/1.1 100 Continue\r\n\r\n".withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
    }
    while bytes.count < headEnd! + length { guard more() else { return nil } }
    return Request(
      target: head.split(separator: " ").prefix(2).joined(separator: " "), head: head.lowercased(),
      body: String(decoding: bytes[headEnd!...], as: UTF8.self))
  }
}
