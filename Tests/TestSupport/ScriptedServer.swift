import Foundation
import Synchronization

/// A server on plain sockets that does what a test tells it to, wrong things above all.
public final class ScriptedServer: Sendable {
  public let port: Int
  public let socketPath: String?
  /// Heads and bodies of the requests, as they came.
  public let requests = Fact<[ScriptedConnection.Request]>([])
  public let connections = Fact<Int>(0)
  private let listener: Int32

  /// - Parameter script: runs for each connection, on a thread of its own, with the number of the connection, from 1.
  public init(unix path: String? = nil, _ script: @escaping @Sendable (ScriptedConnection, Int) -> Void) {
    socketPath = path
    let descriptor = socket(path == nil ? AF_INET : AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    if let path {
      port = 0
      Self.bind(descriptor, to: path)
    } else {
      port = Self.bindLoopback(descriptor)
    }
    precondition(listen(descriptor, 512) == 0, "can't listen")
    listener = descriptor
    let (connections, requests) = (connections, requests)
    Thread.detachNewThread {
      var number = 0
      while true {
        let connected = accept(descriptor, nil, nil)
        guard connected >= 0 else {
          // Here and nowhere else: the number may be another server's a moment after, and its connections must not be ours.
          close(descriptor)
          return
        }
        number += 1
        let mine = number
        connections.change { $0 = mine }
        Thread.detachNewThread {
          let connection = ScriptedConnection(connected, requests: requests)
          script(connection, mine)
          connection.close()
        }
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  public var url: String { "http://127.0.0.1:\(port)/v1/events" }

  /// Binds to a port that the kernel chooses.
  private static func bindLoopback(_ descriptor: Int32) -> Int {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let failure = withUnsafeMutableBytes(of: &address) {
      let address = $0.baseAddress!.assumingMemoryBound(to: sockaddr.self)
      return Foundation.bind(descriptor, address, length) | getsockname(descriptor, address, &length)
    }
    precondition(failure == 0, "can't bind")
    return Int(UInt16(bigEndian: address.sin_port))
  }

  private static func bind(_ descriptor: Int32, to path: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let failure = withUnsafeBytes(of: &address) {
      Foundation.bind(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
    precondition(failure == 0, "can't bind to \(path)")
  }

  /// A port where nobody listens.
  public static func deadPort() -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    return bindLoopback(descriptor)
  }
}

/// One connection of a scripted server, on its own thread: everything here blocks.
public final class ScriptedConnection: Sendable {
  public struct Request: Sendable {
    public var head: String
    public var body: [UInt8]

    /// Lower case, without the request line.
    public var headerNames: [String] {
      head.split(separator: "\r\n").dropFirst().map { $0.split(separator: ":")[0].lowercased() }
    }
  }

  private let descriptor: Int32
  private let requests: Fact<[Request]>
  private let isOpen = Atomic(true)

  init(_ descriptor: Int32, requests: Fact<[Request]>) {
    self.descriptor = descriptor
    self.requests = requests
  }

  /// The next request; nil when the client has closed.
  public func readRequest() -> Request? {
    var bytes: [UInt8] = []
    let mark = Array("\r\n\r\n".utf8)
    var headEnd: Int?
    while headEnd == nil {
      guard let byte = read(atMost: 1) else { return nil }
      bytes += byte
      if bytes.suffix(4) == mark[...] { headEnd = bytes.count }
    }
    let head = String(decoding: bytes, as: UTF8.self)
    let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
      .flatMap { Int($0.split(separator: ":")[1].trimmingCharacters(in: .whitespaces)) }
    var body: [UInt8] = []
    while body.count < length ?? 0 {
      guard let more = read(atMost: (length ?? 0) - body.count) else { return nil }
      body += more
    }
    let request = Request(head: head, body: body)
    requests.change { $0.append(request) }
    return request
  }

  /// Some bytes; nil when the client has closed.
  public func read(atMost count: Int) -> [UInt8]? {
    var chunk = [UInt8](repeating: 0, count: count)
    let got = recv(descriptor, &chunk, count, 0)
    return got > 0 ? Array(chunk[..<got]) : nil
  }

  /// Whether the client closes, or sends something, within so many milliseconds.
  public func isClosed(within milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  /// False when the client has closed.
  @discardableResult
  public func write(_ text: String) -> Bool { write(Array(text.utf8)) }

  @discardableResult
  public func write(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  public func answer(_ status: String = "200 OK", _ body: String = "{}", headers: [String] = []) {
    let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers + ["", ""]
    write(lines.joined(separator: "\r\n") + body)
  }

  /// Closes with a reset.
  public func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    close()
  }

  public func close() {
    guard isOpen.exchange(false, ordering: .relaxed) else { return }
    Foundation.close(descriptor)
  }
}

extension ScriptedServer {
  /// Answers everything.
  public static func agreeable() -> ScriptedServer {
    ScriptedServer { connection, _ in
      while connection.readRequest() != nil { connection.answer() }
    }
  }
}
