import Glibc

/// Whom a connection comes from, as far as connections are counted: an IPv4 address, or an IPv6 network of 64 bits, since
/// that much is one customer's.
///
/// Kept in memory while its connections are open; it is never told to logs or metrics.
struct PeerNetwork: Hashable, Sendable {
  private let bits: UInt64
  private let isIPv6: Bool
  /// This machine itself.
  let isLoopback: Bool

  /// - Parameter ipv4: in the host's byte order.
  init(ipv4: UInt32) {
    bits = UInt64(ipv4)
    isIPv6 = false
    isLoopback = ipv4 >> 24 == 127
  }

  /// - Parameter ipv6: its 16 bytes.
  init(ipv6: some Sequence<UInt8>) {
    let bytes = Array(ipv6)
    func number(_ range: Range<Int>) -> UInt64 { bytes[range].reduce(0) { $0 << 8 | UInt64($1) } }
    // An IPv4 address in IPv6's clothes, ::ffff:1.2.3.4.
    if number(0..<8) == 0, number(8..<12) == 0xFFFF {
      self.init(ipv4: UInt32(number(12..<16)))
      return
    }
    self.init(network: number(0..<8), isLoopback: number(0..<8) == 0 && number(8..<16) == 1)
  }

  private init(network: UInt64, isLoopback: Bool) {
    bits = network
    isIPv6 = true
    self.isLoopback = isLoopback
  }

  /// The other side of a socket, as `accept` tells it; nil for a unix socket.
  init?(_ address: sockaddr_storage) {
    var address = address
    switch Int32(address.ss_family) {
    case AF_INET:
      let number = withUnsafeBytes(of: &address) { $0.load(as: sockaddr_in.self).sin_addr.s_addr }
      self.init(ipv4: UInt32(bigEndian: number))
    case AF_INET6:
      var number = withUnsafeBytes(of: &address) { $0.load(as: sockaddr_in6.self).sin6_addr }
      self.init(ipv6: withUnsafeBytes(of: &number) { Array($0) })
    default: return nil
    }
  }
}
