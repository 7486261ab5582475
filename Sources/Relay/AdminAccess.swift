import EventsAPI
import HTTPServer

/// Who may ask the admin listener: a decision on a request's head.
struct AdminAccess: Sendable {
  /// The host names and addresses, in lower case and without port, that a request may name.
  private let hosts: Set<String>
  /// The listener is bound to all addresses, or to those of a name: any address literal names it. (A web page that
  /// reaches for it by a trick of name resolution names a name.)
  private let takesAnyAddress: Bool
  private let token: String?
  /// Only clients that were let in by these authorities' certificates may ask; nil: all may. As ``TLSIdentity/Parts`` has them.
  private let authorities: [UInt8]?
  private let comparison: SecretComparison

  /// Paths that want no token: what probes ask.
  static let openPaths: Set<String> = ["/livez", "/readyz", "/healthz"]

  init(
    listen: ListenAddress, hosts: [String], token: String?, authorities: [UInt8]? = nil,
    comparison: SecretComparison = .constantTime
  ) {
    var names = Set(hosts.map { Self.hostPart(of: $0).lowercased() })
    names.insert("localhost")
    switch listen {
    case .tcp("0.0.0.0", _), .tcp("::", _): takesAnyAddress = true
    case .tcp(let host, _):
      let isLocal = host.lowercased() == "localhost"
      names.formUnion(isLocal ? ["127.0.0.1", "::1"] : [host.lowercased()])
      takesAnyAddress = !isLocal && !Self.isAddress(host)
    case .unix: takesAnyAddress = false
    }
    // (A unix socket speaks no TLS.)
    if case .tcp = listen { self.authorities = authorities } else { self.authorities = nil }
    self.hosts = names
    self.token = token
    self.comparison = comparison
  }

  /// Why a request is refused; nil when it isn't.
  ///
  /// - Parameter authorities: by which authorities' certificates its connection was let in; nil: by none. It may have been
  ///   opened when others were asked for, or none.
  func refusal(host: String?, authorization: String?, path: String, authorities: [UInt8]? = nil) -> APIError? {
    if let wanted = self.authorities, authorities != wanted {
      return APIError(
        status: 421, code: "other_certificate_wanted",
        message: "admin.tls.client_ca has changed since this connection was opened; open another one.")
    }
    guard let host, isAllowed(host) else {
      return APIError(
        status: 403, code: "forbidden_host",
        message: "The Host header names neither this listener's address nor localhost; add the name to admin.hosts.")
    }
    guard let token, !Self.openPaths.contains(path) else { return nil }
    // Compared always, and once: whoever shows nothing has shown an empty one.
    let shown = Self.bearerToken(authorization)
    guard comparison.isSame(shown ?? "", token), shown != nil else {
      return APIError(
        status: 401, code: "unauthorized", message: "Send the admin token as Authorization: Bearer TOKEN.")
    }
    return nil
  }

  private func isAllowed(_ header: String) -> Bool {
    let host = Self.hostPart(of: header).lowercased()
    return hosts.contains(host) || (takesAnyAddress && Self.isAddress(host))
  }

  /// The host of `host`, `host:port`, `[v6]`, `[v6]:port` or `v6`, without brackets.
  static func hostPart(of header: String) -> String {
    if header.hasPrefix("[") { return String(header.dropFirst().prefix { $0 != "]" }) }
    if header.firstIndex(of: ":") != header.lastIndex(of: ":") { return header }
    return String(header.prefix { $0 != ":" })
  }

  private static func isAddress(_ host: String) -> Bool {
    host.contains(":")
      ? host.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
      : !host.isEmpty && host.allSatisfy { $0.isNumber || $0 == "." }
  }

  /// What stands behind `Bearer`; nil when that isn't what the header says.
  private static func bearerToken(_ authorization: String?) -> String? {
    guard let authorization, let space = authorization.firstIndex(of: " "),
      authorization[..<space].lowercased() == "bearer"
    else { return nil }
    return String(authorization[authorization.index(after: space)...].drop { $0 == " " })
  }
}
