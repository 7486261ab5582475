extension ScalarFormat where Value == String {
  /// The upstream's base: http or https, a host, perhaps a port and a path. Without a `/` or `/v1` at the end afterwards.
  static var upstreamURL: ScalarFormat {
    // A URL may hold a password, so it is never printed.
    ScalarFormat(noun: "the upstream's base, such as https://api.example.com", isPrintable: false) {
      text throws(Misfit) in
      guard text.utf8.count <= 1024, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw Misfit("holds a space or another character that no URL has")
      }
      guard let separator = text.firstRange(of: "://") else {
        throw Misfit("has no http:// or https:// before the host")
      }
      let scheme = text[..<separator.lowerBound].lowercased()
      guard scheme == "http" || scheme == "https" else { throw Misfit("is neither http nor https") }
      let rest = text[separator.upperBound...]
      guard !rest.contains("?"), !rest.contains("#") else { throw Misfit("holds a query (?) or a fragment (#)") }
      let authority = rest.prefix { $0 != "/" }
      guard !authority.contains("@") else { throw Misfit("holds a user or password before an @") }
      try check(authority: authority)
      var path = rest[authority.endIndex...]
      trimSlashes(&path)
      if path.hasSuffix("/v1/events") || path.hasSuffix("/v1/identify") {
        throw Misfit("names a single call; the relay adds /v1/events and /v1/identify itself")
      }
      if path.hasSuffix("/v1") {
        path.removeLast(3)
        trimSlashes(&path)
      }
      return "\(scheme)://\(authority)\(path)"
    }
  }

  private static func trimSlashes(_ path: inout Substring) {
    while path.hasSuffix("/") { path.removeLast() }
  }

  private static func check(authority: Substring) throws(Misfit) {
    var host = authority
    var port: Substring?
    if let end = authority.lastIndex(of: "]") {
      host = authority[...end]
      let after = authority[authority.index(after: end)...]
      guard after.isEmpty || after.hasPrefix(":") else { throw Misfit("has something other than a port after ]") }
      port = after.isEmpty ? nil : after.dropFirst()
    } else if let colon = authority.lastIndex(of: ":") {
      host = authority[..<colon]
      port = authority[authority.index(after: colon)...]
    }
    guard !host.isEmpty else { throw Misfit("has no host") }
    let isHost =
      host.hasPrefix("[")
      ? host.hasSuffix("]") && HostText.isIPv6(host.dropFirst().dropLast())
      : HostText.isIPv4(host) || HostText.isName(host.hasSuffix(".") ? host.dropLast() : host)
    guard isHost else { throw Misfit("has neither a name nor an address as its host") }
    if let port { _ = try HostText.port(port, least: 1) }
  }
}

/// URLs that are known to be right.
enum URLText {
  /// The host is this machine.
  static func isLocal(_ url: String) -> Bool {
    guard let separator = url.firstRange(of: "://") else { return false }
    let authority = url[separator.upperBound...].prefix { $0 != "/" }
    if authority.hasPrefix("[") { return HostText.isLoopback(String(authority.dropFirst().prefix { $0 != "]" })) }
    return HostText.isLoopback(String(authority.prefix { $0 != ":" }))
  }
}
