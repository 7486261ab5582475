import Configuration

/// A header that the user adds to each request. Its value may be a secret: it is never printed.
struct WebhookHeader: Sendable, Equatable {
  static let valueBytesMax = 8192
  private static let nameBytesMax = 256

  var name: String
  var value: RelayConfiguration.Secret

  var line: String { "\(name): \(value.revealed)" }

  /// What the request itself or the connection has, in lower case.
  private static let reserved: Set<String> = [
    "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Why a name can't be that of a header to add, as a predicate with what would be right; nil when it can.
  static func problem(withName name: String) -> String? {
    let isToken = name.utf8.allSatisfy { byte in
      byte > 0x20 && byte < 0x7F && !#"()<>@,;:\"/[]?={}"#.utf8.contains(byte)
    }
    guard isToken, (1...nameBytesMax).contains(name.utf8.count) else {
      return "is no header's name; it should be letters, digits and -, such as Authorization"
    }
    let lower = name.lowercased()
    if reserved.contains(lower) { return "is set by the relay itself; remove it" }
    if lower.hasPrefix("webhook-") { return "belongs to the signature, as all that begin with webhook-; remove it" }
    return nil
  }

  /// Why a text can't be a header's value, as a predicate that doesn't hold it; nil when it can.
  static func problem(withValue text: String) -> String? {
    guard !text.isEmpty else { return "is empty" }
    guard text.utf8.count <= valueBytesMax else { return "is longer than \(valueBytesMax) characters" }
    guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 }) else {
      return "holds a line break, another control character or one beyond ASCII"
    }
    let blanks: [UInt8] = [0x20, 0x09]
    let hasBlankEnd = text.utf8.first.map(blanks.contains) == true || text.utf8.last.map(blanks.contains) == true
    return hasBlankEnd ? "begins or ends with a blank" : nil
  }
}
