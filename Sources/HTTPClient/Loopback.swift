/// Which hosts are this machine: no proxy stands between it and itself, whatever the environment says.
enum Loopback {
  /// Whether a URL's host is `localhost`, 127.0.0.0/8 or ::1; false for what is no URL.
  static func isHost(ofURL url: String) -> Bool {
    guard let scheme = url.firstRange(of: "://") else { return false }
    var authority = url[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
    if authority.hasPrefix("[") { return authority.prefix { $0 != "]" }.dropFirst() == "::1" }
    let host = authority.prefix { $0 != ":" }.lowercased()
    return host == "localhost" || host.hasSuffix(".localhost") || isLoopbackAddress(host)
  }

  private static func isLoopbackAddress(_ host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }
}
