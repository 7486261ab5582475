import Foundation
import JSON

/// Where a listener is.
enum TestAddress: Sendable, Hashable {
  case tcp(host: String, port: UInt16)
  case unix(path: String)

  /// Nil for a unix socket.
  var hostAndPort: (host: String, port: UInt16)? {
    if case .tcp(let host, let port) = self { (host, port) } else { nil }
  }

  /// Reads `127.0.0.1:80`, `[::1]:80`, `unix:/path`, with or without `http://` before it.
  init(_ text: String) throws {
    let plain = text.hasPrefix("http://") ? String(text.dropFirst(7)) : text
    if plain.hasPrefix("unix:") {
      self = .unix(path: String(plain.dropFirst(5)))
      return
    }
    guard let colon = plain.lastIndex(of: ":"),
      let port = UInt16(plain[plain.index(after: colon)...].prefix { $0.isNumber })
    else { throw TestFailure("no address: \(text)") }
    self = .tcp(host: plain[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]")), port: port)
  }

  /// What stands in a `Host` header.
  var authority: String {
    switch self {
    case .tcp(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    case .unix: "localhost"
    }
  }
}

/// An answer as it came.
struct TestAnswer: Sendable {
  var status: Int
  /// By names in lower case.
  var headers: [String: String]
  var body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }
  var json: JSONValue? { try? JSONValue(parsing: body) }
}

/// A connection to an HTTP server. Its calls block: use it `onThread`.
final class TestConnection: Sendable {
  private let descriptor: Int32
  private let address: TestAddress

  init(to address: TestAddress) throws {
    self.address = address
    switch address {
    case .tcp(let host, let port):
      descriptor = socket(host.contains(":") ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0)
      if host.contains(":") {
        var name = sockaddr_in6()
        name.sin6_family = sa_family_t(AF_INET6)
        name.sin6_port = port.bigEndian
        inet_pton(AF_INET6, host, &name.sin6_addr)
        try connectSocket(descriptor, &name)
      } else {
        var name = loopback(port: port)
        try connectSocket(descriptor, &name)
      }
    case .unix(let path):
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0)
      var name = sockaddr_un()
      name.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
      try connectSocket(descriptor, &name)
    }
    // Only ever ends a test that has failed.
    var limit = timeval(tv_sec: 300, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  deinit { close(descriptor) }

  /// Sends a request and reads the answer.
  func send(
    _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8] = [], host: String? = nil
  ) throws -> TestAnswer {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host ?? address.authority)\r\n"
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    if method == "POST" { head += "Content-Length: \(body.count)\r\n" }
    try write(Array((head + "\r\n").utf8) + body)
    var incoming = Incoming(descriptor: descriptor)
    return try Self.readAnswer(&incoming)
  }

  /// Sends bytes as they are.
  func write(_ bytes: [UInt8]) throws { try sendAll(descriptor, bytes) }

  /// Sends bytes as they are and reads everything that comes back, up to so many answers; an interim 100 counts as one
  /// when it is asked for. Fewer answers when the connection ends before.
  func exchange(_ bytes: [UInt8], answers count: Int = 1, interim: Bool = false) throws -> [TestAnswer] {
    try write(bytes)
    var incoming = Incoming(descriptor: descriptor)
    var answers: [TestAnswer] = []
    while answers.count < count, let answer = try? Self.readAnswer(&incoming, interim: interim) {
      answers.append(answer)
    }
    return answers
  }

  /// Whether the other side has ended the connection: waits until it does or sends something.
  func isEnded() -> Bool {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, 0) <= 0
  }

  /// Everything until the other side ends the connection, as text.
  func readToEnd() -> String {
    var all: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count <= 0 { return String(decoding: all, as: UTF8.self) }
      all += chunk[..<count]
    }
  }

  private static func readAnswer(_ incoming: inout Incoming, interim: Bool = false) throws -> TestAnswer {
    while true {
      let head = try incoming.head()
      let status = head.first.flatMap { Int($0.split(separator: " ").dropFirst().first ?? "") } ?? 0
      if status == 100, interim { return TestAnswer(status: 100, headers: [:], body: []) }
      if status == 100 { continue }
      let headers = Incoming.headers(head)
      let hasBody = status != 204 && status != 304
      return TestAnswer(status: status, headers: headers, body: hasBody ? try incoming.body(headers) : [])
    }
  }
}

let closeOnExec = Int32(SOCK_CLOEXEC.rawValue)

func loopback(port: UInt16) -> sockaddr_in {
  var name = sockaddr_in()
  name.sin_family = sa_family_t(AF_INET)
  name.sin_port = port.bigEndian
  name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  return name
}

/// Hands a socket address over as C wants it.
func withSocketAddress<Name>(_ name: inout Name, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
  withUnsafePointer(to: &name) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<Name>.size)) }
  }
}

private func connectSocket<Name>(_ descriptor: Int32, _ name: inout Name) throws {
  if withSocketAddress(&name, { connect(descriptor, $0, $1) }) != 0 {
    let reason = String(cString: strerror(errno))
    close(descriptor)
    throw TestFailure("can't connect: \(reason)")
  }
}

func sendAll(_ descriptor: Int32, _ bytes: [UInt8]) throws {
  var sent = 0
  while sent < bytes.count {
    let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { throw TestFailure("can't send: \(String(cString: strerror(errno)))") }
    sent += count
  }
}

/// Reads HTTP messages off a socket.
struct Incoming {
  let descriptor: Int32
  private var buffer: [UInt8] = []

  init(descriptor: Int32) { self.descriptor = descriptor }

  /// The lines of the next head; throws when the connection ends before it.
  mutating func head() throws -> [String] {
    var scanned = 0
    while true {
      if let end = buffer[scanned...].firstRange(of: Array("\r\n\r\n".utf8)) {
        let text = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
        buffer.removeFirst(end.upperBound)
        return text.components(separatedBy: "\r\n")
      }
      scanned = max(0, buffer.count - 3)
      try more()
    }
  }

  static func headers(_ head: [String]) -> [String: String] {
    var found: [String: String] = [:]
    for line in head.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      found[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    return found
  }

  /// The body that these headers announce; without a length, everything until the connection ends.
  mutating func body(_ headers: [String: String], untilClosed: Bool = true) throws -> [UInt8] {
    if let length = headers["content-length"].flatMap({ Int($0) }) { return try take(length) }
    if headers["transfer-encoding"]?.lowercased() == "chunked" { return try chunks() }
    guard untilClosed else { return [] }
    while (try? more()) != nil {}
    defer { buffer = [] }
    return buffer
  }

  private mutating func chunks() throws -> [UInt8] {
    var whole: [UInt8] = []
    while true {
      let size = Int(try line().split(separator: ";").first ?? "", radix: 16) ?? 0
      if size == 0 {
        while try !line().isEmpty {}
        return whole
      }
      whole += try take(size)
      _ = try line()
    }
  }

  private mutating func line() throws -> String {
    while true {
      if let end = buffer.firstRange(of: Array("\r\n".utf8)) {
        let text = String(decoding: buffer[..<end.lowerBound], as: UTF8.self)
        buffer.removeFirst(end.upperBound)
        return text
      }
      try more()
    }
  }

  private mutating func take(_ count: Int) throws -> [UInt8] {
    while buffer.count < count { try more() }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  private mutating func more() throws {
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count > 0 {
        buffer += chunk[..<count]
        return
      }
      if count < 0, errno == EINTR { continue }
      throw TestFailure(count == 0 ? "the connection ended" : "can't receive: \(String(cString: strerror(errno)))")
    }
  }
}
