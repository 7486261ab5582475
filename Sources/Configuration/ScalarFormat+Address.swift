import Glibc

extension ScalarFormat where Value == RelayConfiguration.Address {
  /// `host:port`, `[v6]:port` or `unix:/path`; a relative path is relative to `directory`. Port 0: the kernel chooses.
  static func address(relativeTo directory: String) -> ScalarFormat {
    ScalarFormat(noun: "host:port, [v6]:port or unix:/path") { text throws(Misfit) in
      if text.hasPrefix("unix:") {
        let path = PathText.absolute(String(text.dropFirst(5)), relativeTo: directory)
        guard text.count > 5, !text.hasSuffix("/") else { throw Misfit("has no path") }
        guard !text.hasPrefix("unix:~") else { throw Misfit("begins with ~, which is not expanded") }
        guard path.utf8.count <= HostText.unixPathBytesMax else {
          throw Misfit(
            "makes a path of \(path.utf8.count) bytes, more than a unix socket's \(HostText.unixPathBytesMax)")
        }
        return .unix(path: path)
      }
      guard !text.contains("://") else {
        throw Misfit("is a URL", hint: text.split(separator: "/").dropFirst().first.map(String.init))
      }
      guard !text.isEmpty, !text.utf8.allSatisfy(isDigit) else {
        throw Misfit("has no host", hint: text.isEmpty ? nil : "127.0.0.1:\(text)")
      }
      guard let colon = text.lastIndex(of: ":") else { throw Misfit("has no port", hint: "\(text):8787") }
      let port = try HostText.port(text[text.index(after: colon)...])
      let host = text[..<colon]
      if host.isEmpty || host == "*" { throw Misfit("has no host", hint: "0.0.0.0:\(port), or [::]:\(port)") }
      if host.hasPrefix("[") {
        guard host.hasSuffix("]"), HostText.isIPv6(host.dropFirst().dropLast()) else {
          throw Misfit("holds no IPv6 address")
        }
        return .tcp(host: String(host.dropFirst().dropLast()), port: port)
      }
      guard !host.contains(":") else { throw Misfit("is an IPv6 address without [ ]", hint: "[\(host)]:\(port)") }
      guard HostText.isIPv4(host) || HostText.isName(host) else { throw Misfit("holds neither an address nor a name") }
      return .tcp(host: String(host), port: port)
    }
  }
}

extension ScalarFormat where Value == String {
  /// What may stand in a request's `Host` header: a name or an address, with or without a port.
  static var hostHeader: ScalarFormat {
    ScalarFormat(noun: "a host name or address, with or without :port") { text throws(Misfit) in
      guard !text.contains("/") else { throw Misfit("holds a /, which no host does") }
      var host = Substring(text)
      if let colon = text.lastIndex(of: ":"), !text.hasSuffix("]"), !HostText.isIPv6(text) {
        _ = try HostText.port(text[text.index(after: colon)...], least: 1)
        host = text[..<colon]
      }
      if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
      guard HostText.isIPv4(host) || HostText.isIPv6(host) || HostText.isName(host) else {
        throw Misfit("is neither a name nor an address")
      }
      return text.lowercased()
    }
  }
}

/// Host names and addresses.
enum HostText {
  /// What `sockaddr_un` holds, without its zero.
  static let unixPathBytesMax = 107

  static func port(_ text: some StringProtocol, least: Int = 0) throws(Misfit) -> Int {
    guard !text.isEmpty, text.utf8.allSatisfy(isDigit), let port = Int(text), (least...65535).contains(port) else {
      throw Misfit("has no port from \(least) to 65535")
    }
    return port
  }

  static func isIPv4(_ text: some StringProtocol) -> Bool {
    var out = in_addr()
    return inet_pton(AF_INET, String(text), &out) == 1
  }

  /// An address, with or without a zone.
  static func isIPv6(_ text: some StringProtocol) -> Bool {
    var out = in6_addr()
    let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
    guard inet_pton(AF_INET6, String(parts[0]), &out) == 1 else { return false }
    return parts.count == 1
      || (!parts[1].isEmpty && parts[1].utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: ".") })
  }

  /// Letters, digits, `-`, `_` and dots, and not only digits and dots: those are a mistyped address.
  static func isName(_ text: some StringProtocol) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    let areLabels = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count) && label.utf8.allSatisfy { isWordByte($0) || $0 == UInt8(ascii: "-") }
    }
    return areLabels && text.utf8.count <= 253 && !labels[labels.count - 1].utf8.allSatisfy(isDigit)
  }

  static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" { return true }
    if isIPv4(host) { return host.hasPrefix("127.") }
    var out = in6_addr()
    guard inet_pton(AF_INET6, host, &out) == 1 else { return false }
    return withUnsafeBytes(of: &out) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
  }

  static func isWildcard(_ host: String) -> Bool {
    if host == "0.0.0.0" { return true }
    var out = in6_addr()
    return inet_pton(AF_INET6, host, &out) == 1 && withUnsafeBytes(of: &out) { $0.allSatisfy { $0 == 0 } }
  }
}

extension RelayConfiguration.Address {
  /// The address that a text names, a relative path being relative to the working directory; else what is wrong.
  public static func parse(_ text: String) -> Result<Self, UpstreamBase.Fault> {
    let format = ScalarFormat.address(relativeTo: FileText.workingDirectory)
    do {
      return .success(try format.parse(text))
    } catch {
      let meant = error.hint.map { "; did you mean \($0)?" } ?? "; it should be \(format.noun)"
      return .failure(.init(message: "\(Quoting().quote(text)) \(error.problem)\(meant)"))
    }
  }

  /// Only this machine reaches it.
  public var isLocal: Bool {
    switch self {
    case .tcp(let host, _): HostText.isLoopback(host)
    case .unix: true
    }
  }

  /// One of two listeners would not get it while the other has it.
  func collides(with other: Self) -> Bool {
    switch (self, other) {
    case (.unix(let one), .unix(let two)): return one == two
    case (.tcp(let one, let port), .tcp(let two, let otherPort)):
      guard port == otherPort, port != 0 else { return false }
      if one.lowercased() == two.lowercased() { return true }
      guard HostText.isWildcard(one) || HostText.isWildcard(two) else { return false }
      // A listener on all addresses of one family leaves the other family alone.
      let isName = [one, two].contains { !HostText.isIPv4($0) && !HostText.isIPv6($0) }
      return isName || HostText.isIPv6(one) == HostText.isIPv6(two)
    default: return false
    }
  }
}
