extension ScalarFormat where Value == String {
  /// An upstream's base: http or https, a host, perhaps a port and a path. Without what its protocol adds by itself afterwards.
  static func upstreamURL(of format: ProtocolFormat) -> ScalarFormat {
    upstreamURL(calls: format.calls, base: format.base)
  }

  /// The same of a relay, or of the first protocol's upstream.
  static var upstreamURL: ScalarFormat {
    upstreamURL(calls: ["/v1/events", "/v1/identify"]) { url in
      var rest = Substring(url)
      trimSlashes(&rest)
      if rest.hasSuffix("/v1") {
        rest.removeLast(3)
        trimSlashes(&rest)
      }
      return String(rest)
    }
  }

  private static func upstreamURL(calls: [String], base: @escaping @Sendable (String) -> String) -> ScalarFormat {
    // A URL may hold a password, so it is never printed.
    ScalarFormat(noun: "the upstream's base, such as https://api.example.com", isPrintable: false) {
      text throws(Misfit) in
      let (scheme, rest) = try parts(of: text)
      guard !rest.contains("?"), !rest.contains("#") else { throw Misfit("holds a query (?) or a fragment (#)") }
      try check(authority: rest.prefix { $0 != "/" })
      let url = base("\(scheme)://\(rest)")
      if calls.contains(where: { $0 != "/" && url.hasSuffix($0) }) {
        throw Misfit("names a single call; the relay adds \(calls.joined(separator: " and ")) itself")
      }
      return url
    }
  }

  /// A receiver's URL, as it is called: http or https, a host, perhaps a port, a path and a query.
  public static var receiverURL: ScalarFormat {
    // Its path or its query may hold a password, so it is never printed.
    ScalarFormat(noun: "the receiver's URL, such as https://example.com/hook", isPrintable: false) {
      text throws(Misfit) in
      let (scheme, rest) = try parts(of: text)
      guard !rest.contains("#") else { throw Misfit("holds a fragment (#), which is never sent") }
      try check(authority: rest.prefix { $0 != "/" && $0 != "?" })
      return "\(scheme)://\(rest)"
    }
  }

  /// A URL's scheme, http or https, and what comes after `://`.
  private static func parts(of text: String) throws(Misfit) -> (scheme: String, rest: Substring) {
    guard text.utf8.count <= 1024, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw Misfit("holds a space or another character that no URL has")
    }
    guard let separator = text.firstRange(of: "://") else {
      throw Misfit("has no http:// or https:// before the host")
    }
    let scheme = text[..<separator.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" else { throw Misfit("is neither http nor https") }
    return (scheme, text[separator.upperBound...])
  }

  private static func trimSlashes(_ path: inout Substring) {
    while path.hasSuffix("/") { path.removeLast() }
  }

  static func check(authority: Substring) throws(Misfit) {
    guard !authority.contains("@") else { throw Misfit("holds a user or password before an @") }
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
public enum URLText {
  /// A URL's scheme, host and port, without what may hold a secret.
  public static func origin(_ url: String) -> String {
    guard let separator = url.firstRange(of: "://") else { return "" }
    return String(url[..<separator.upperBound] + url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" })
  }

  /// A URL's host, without brackets; empty when there is none.
  public static func host(_ url: String) -> String {
    guard let separator = url.firstRange(of: "://") else { return "" }
    let authority = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" }
    return String(
      authority.hasPrefix("[") ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" })
  }

  /// The host is this machine.
  public static func isLocal(_ url: String) -> Bool {
    guard let separator = url.firstRange(of: "://") else { return false }
    let authority = url[separator.upperBound...].prefix { $0 != "/" && $0 != "?" }
    if authority.hasPrefix("[") { return HostText.isLoopback(String(authority.dropFirst().prefix { $0 != "]" })) }
    return HostText.isLoopback(String(authority.prefix { $0 != ":" }))
  }
}

/// The base of an upstream or a relay, wherever it is named.
public enum UpstreamBase {
  public struct Fault: Error, Sendable, Equatable {
    /// What is wrong and what would be right; the text itself is not in it, since it may hold a password.
    public var message: String
  }

  /// A base without `/` or `/v1` at its end, from one with or without.
  public static func parse(_ text: String) -> Result<String, Fault> {
    let format = ScalarFormat<String>.upstreamURL
    do {
      return .success(try format.parse(text))
    } catch {
      return .failure(Fault(message: "the URL \(error.problem); it should be \(format.noun)"))
    }
  }
}
