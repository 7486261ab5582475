import Glibc

/// A TCP connection on the loopback interface, spoken to byte by byte: what breaks HTTP on purpose can't be built on what
/// keeps it. Blocks, each call for at most a limit. Closed with its last use; one thread uses it at a time.
final class Wire {
  /// Heads and bodies of more bytes are nobody's here.
  private static let bytesMax = 16 << 20

  let descriptor: Int32
  private var buffer: [UInt8] = []

  init(_ descriptor: Int32) {
    self.descriptor = descriptor
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit { close(descriptor) }

  /// Connects to a port of this machine.
  static func connect(toPort port: UInt16, within limit: Duration) throws(TortureError) -> Wire {
    let descriptor = Loopback.socket()
    guard descriptor >= 0 else { throw TortureError("no socket: \(String(cString: strerror(errno)))") }
    let wire = Wire(descriptor)
    wire.setLimit(limit)
    var address = Loopback.address(port)
    let code = Loopback.with(&address) { Glibc.connect(descriptor, $0, $1) }
    guard code == 0 else { throw TortureError("can't connect to port \(port): \(String(cString: strerror(errno)))") }
    return wire
  }

  /// How long a call may take.
  func setLimit(_ limit: Duration) {
    let microseconds = limit / .microseconds(1)
    var time = timeval(tv_sec: Int(microseconds / 1e6), tv_usec: Int(microseconds.truncatingRemainder(dividingBy: 1e6)))
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
  }

  /// Sends all of the bytes; false when the other side is gone or takes none.
  func send(_ bytes: [UInt8]) -> Bool { send(bytes[...]) }

  func send(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes
      while !rest.isEmpty {
        let count = Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
      }
      return true
    }
  }

  /// The head of a request or an answer: its first line, and the headers by their names in small letters. Nil at the end.
  func head() -> (line: String, headers: [String: String])? {
    var from = 0
    while true {
      if let end = Self.headEnd(buffer, &from) {
        let lines = String(decoding: buffer[..<end], as: UTF8.self).split(separator: "\r\n")
        buffer.removeFirst(end + 4)
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1)
          guard parts.count == 2 else { continue }
          headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        return (String(lines.first ?? ""), headers)
      }
      guard receive() else { return nil }
    }
  }

  private static func headEnd(_ bytes: [UInt8], _ from: inout Int) -> Int? {
    let mark = Array("\r\n\r\n".utf8)
    while from + 4 <= bytes.count {
      if bytes[from] == mark[0], bytes[from..<from + 4].elementsEqual(mark) { return from }
      from += 1
    }
    return nil
  }

  /// A body of so many bytes; nil when the other side ends before.
  func body(_ count: Int) -> [UInt8]? {
    guard count <= Self.bytesMax else { return nil }
    while buffer.count < count { guard receive() else { return nil } }
    defer { buffer.removeFirst(count) }
    return Array(buffer[..<count])
  }

  private func receive() -> Bool {
    guard buffer.count < Self.bytesMax else { return false }
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = recv(descriptor, &chunk, chunk.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      buffer.append(contentsOf: chunk[..<count])
      return true
    }
  }

  /// Has the other side see a reset when this is closed.
  func reset() {
    var abort = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &abort, socklen_t(MemoryLayout<linger>.size))
  }

  /// Ends both ways at once: who waits in a call returns.
  func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
