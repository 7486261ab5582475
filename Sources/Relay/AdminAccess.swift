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

  /// Paths that want no token: what probes ask.
  static let openPaths: Set<String> = ["/livez", "/readyz", "/healthz"]

  init(listen: ListenAddress, hosts: [String], token: String?) {
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
    self.hosts = names
    self.token = token
  }

  /// Why a request is refused; nil when it isn't.
  func refusal(host: String?, authorization: String?, path: String) -> APIError? {
    guard let host, isAllowed(host) else {
      return APIError(
        status: 403, code: "forbidden_host",
        message: "The Host header names neither this listener's address nor localhost; add the name to admin.hosts.")
    }
    guard let token, !Self.openPaths.contains(path) else { return nil }
    guard let authorization, let space = authorization.firstIndex(of: " "),
      authorization[..<space].lowercased() == "bearer",
      Self.isEqual(authorization[authorization.index(after: space)...].drop { $0 == " " }, token)
    else {
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

  /// Takes the same time wherever the two differ.
  static func isEqual(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    let one = Array(one.utf8)
    let other = Array(other.utf8)
    var difference = one.count ^ other.count
    for index in 0..<max(one.count, other.count) {
      difference |= Int(index < one.count ? one[index] : 0) ^ Int(index < other.count ? other[index] : 0)
    }
    return difference == 0
  }
}
