extension ScalarFormat where Value == String {
  /// A web origin as browsers send it, or `*` for all: in lower case and without a usual port afterwards.
  static var origin: ScalarFormat {
    ScalarFormat(noun: "an origin such as https://example.com or http://localhost:3000, or *") { text throws(Misfit) in
      if text == "*" { return text }
      guard text.utf8.count <= 512, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw Misfit("holds a space or another character that no origin has")
      }
      guard let separator = text.firstRange(of: "://") else {
        throw Misfit("has no https:// before the host", hint: hint(forHost: text))
      }
      let scheme = text[..<separator.lowerBound].lowercased()
      guard scheme == "http" || scheme == "https" else { throw Misfit("is neither http nor https") }
      let rest = text[separator.upperBound...].lowercased()
      let authority = rest.prefix { !"/?#".contains($0) }
      guard !authority.contains("*") else {
        throw Misfit("has a * in its host; hosts are written out, or * alone means all")
      }
      try check(authority: authority)
      guard authority.endIndex == rest.endIndex else {
        throw Misfit(
          "has something behind the host and the port, which no origin has", hint: "\(scheme)://\(authority)")
      }
      let usual = scheme == "https" ? ":443" : ":80"
      return "\(scheme)://\(authority.hasSuffix(usual) ? authority.dropLast(usual.count) : authority)"
    }
  }

  /// The origin that a host alone may stand for; nil when that would be none either. `null` is what browsers send for pages
  /// that have no origin, and no host.
  private static func hint(forHost text: String) -> String? {
    let host = text.lowercased()
    guard host != "null", !host.contains("/"), (try? origin.parse("https://\(host)")) != nil else { return nil }
    return "https://\(host)"
  }
}
