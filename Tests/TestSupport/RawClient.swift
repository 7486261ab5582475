import Dispatch
import Glibc

/// A connection whose bytes the test writes and reads itself. Its calls block a thread of its own, never the tests'.
///
/// Every read gives up after five minutes, which only ever ends a test that has failed.
public final class RawClient: Sendable {
  /// What came back, taken apart.
  public struct Response: Sendable, Equatable {
    public var status: Int
    /// Names in lower case.
    public var headers: [String: String]
    public var body: [UInt8]

    public var text: String { String(decoding: body, as: UTF8.self) }
  }

  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  private let descriptor: Int32
  private let session: TLSClientSession?
  private let queue = DispatchQueue(label: "raw client")
  // Only the queue touches it.
  private nonisolated(unsafe) var buffer: [UInt8] = []

  /// - Parameters:
  ///   - source: the IPv4 address it comes from; nil: as the kernel likes.
  ///   - tls: how TLS is spoken, with the first byte; nil: not at all.
  public init(
    host: String = "127.0.0.1", port: Int, from source: String? = nil, tls: TLSClient? = TLSClient.current
  ) throws {
    var address = sockaddr_in6()
    var size: Int
    let family: Int32
    if host.contains(":") {
      family = AF_INET6
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = in_port_t(port).bigEndian
      inet_pton(AF_INET6, host, &address.sin6_addr)
      size = MemoryLayout<sockaddr_in6>.size
    } else {
      family = AF_INET
      size = MemoryLayout<sockaddr_in>.size
      withUnsafeMutableBytes(of: &address) { bytes in
        bytes.withMemoryRebound(to: sockaddr_in.self) { four in
          four[0].sin_family = sa_family_t(AF_INET)
          four[0].sin_port = in_port_t(port).bigEndian
          inet_pton(AF_INET, host, &four[0].sin_addr)
        }
      }
    }
    descriptor = try Self.connected(family, &address, size, from: source)
    session = try tls.map { [descriptor] in try TLSClientSession(descriptor, $0) }
  }

  public init(unix path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    descriptor = try Self.connected(AF_UNIX, &address, MemoryLayout<sockaddr_un>.size)
    session = nil
  }

  private static func connected(
    _ family: Int32, _ address: UnsafeRawPointer, _ size: Int, from source: String? = nil
  ) throws -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    if let source {
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      inet_pton(AF_INET, source, &own.sin_addr)
      let length = socklen_t(MemoryLayout<sockaddr_in>.size)
      _ = withUnsafeBytes(of: &own) {
        bind(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), length)
      }
    }
    var patience = timeval(tv_sec: 300, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    guard connect(descriptor, address.assumingMemoryBound(to: sockaddr.self), socklen_t(size)) == 0 else {
      let reason = String(cString: strerror(errno))
      Glibc.close(descriptor)
      throw Failure(description: "can't connect: \(reason)")
    }
    return descriptor
  }

  deinit { Glibc.close(descriptor) }

  /// Writes all of it; returns false when the other side doesn't take it any more.
  @discardableResult
  public func send(_ bytes: [UInt8]) async -> Bool {
    await onQueue { [self] in
      var sent = 0
      while sent < bytes.count {
        let count = bytes.withUnsafeBytes { write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }

  @discardableResult
  public func send(_ text: String) async -> Bool { await send(Array(text.utf8)) }

  /// Tells the other side that nothing more comes.
  public func finishWriting() {
    queue.sync { session?.finish() }
    shutdown(descriptor, Int32(SHUT_WR))
  }

  /// What came of the handshake, which is done if it wasn't yet: the version spoken and the server's certificate (DER); nil when
  /// it failed.
  public func handshake() async -> (version: String, certificate: [UInt8])? {
    await onQueue { [session] in
      guard let session, session.secure() else { return nil }
      return (session.version, session.peer)
    }
  }

  /// The last thing that went wrong with TLS, in the library's words.
  public func tlsError() async -> String { await onQueue { [session] in session?.error ?? "" } }

  private func write(_ bytes: UnsafeRawBufferPointer) -> Int {
    session?.write(bytes) ?? Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Ends the connection so that the other side gets a reset.
  public func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    _ = connect(descriptor, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// The next answer; an interim one (1xx) too.
  public func response(toHead: Bool = false) async throws -> Response {
    try await onQueue { [self] in
      var end: Int?
      while true {
        end = buffer.indices.first { buffer[$0...].starts(with: Array("\r\n\r\n".utf8)) }
        if end != nil { break }
        guard try readMore() else {
          throw Failure(description: "closed before an answer; got \(String(decoding: buffer, as: UTF8.self))")
        }
      }
      let lines = String(decoding: buffer[..<end!], as: UTF8.self).split(separator: "\r\n")
      buffer.removeSubrange(..<(end! + 4))
      let status = Int(lines[0].split(separator: " ")[1]) ?? 0
      var headers: [String: String] = [:]
      for line in lines.dropFirst() {
        guard let colon = line.firstIndex(of: ":") else { continue }
        headers[line[..<colon].lowercased()] = String(
          line[line.index(after: colon)...].drop { $0 == " " })
      }
      let length = toHead || status < 200 ? 0 : Int(headers["content-length"] ?? "0") ?? 0
      while buffer.count < length {
        guard try readMore() else { throw Failure(description: "closed within an answer's body") }
      }
      let body = Array(buffer[..<length])
      buffer.removeSubrange(..<length)
      return Response(status: status, headers: headers, body: body)
    }
  }

  /// Everything until the other side closes; a reset counts as closing.
  public func readToEnd() async throws -> [UInt8] {
    try await onQueue { [self] in
      while try readMore() {}
      defer { buffer = [] }
      return buffer
    }
  }

  /// Writes a byte every few milliseconds, over and over the same, until the other side says something or closes.
  public func dribble(_ byte: UInt8, atMost count: Int = 60_000) async {
    await onQueue { [self] in
      for _ in 0..<count {
        guard withUnsafeBytes(of: byte, write) == 1 else { return }
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&watched, 1, 3) == 0 else { return }
      }
    }
  }

  private func readMore() throws -> Bool {
    var chunk = [UInt8](repeating: 0, count: 65536)
    if let session {
      let count = try chunk.withUnsafeMutableBytes { try session.read($0) }
      buffer += chunk[..<count]
      return count > 0
    }
    let count = recv(descriptor, &chunk, chunk.count, 0)
    if count < 0, errno == EAGAIN { throw Failure(description: "nothing came for five minutes") }
    guard count > 0 else { return false }
    buffer += chunk[..<count]
    return true
  }

  private func onQueue<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  private func onQueue<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
      queue.async { continuation.resume(returning: body()) }
    }
  }
}
