import Glibc

/// Sockets of this machine's own network.
enum Loopback {
  static func socket() -> Int32 { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | closeOnExec, 0) }

  private static let closeOnExec = Int32(SOCK_CLOEXEC.rawValue)

  /// 127.0.0.1 with a port; 0: a free one.
  static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  static func with<Value>(_ address: inout sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Value) -> Value
  {
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  /// A socket that listens on a free port.
  static func listen() throws(TortureError) -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket()
    var address = address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    guard descriptor >= 0, with(&address, { bind(descriptor, $0, $1) }) == 0, Glibc.listen(descriptor, 128) == 0 else {
      throw TortureError("can't listen on a port of this machine: \(String(cString: strerror(errno)))")
    }
    _ = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  /// The port of `127.0.0.1:40123`.
  static func port(of address: String) -> UInt16? { address.split(separator: ":").last.flatMap { UInt16($0) } }
}
