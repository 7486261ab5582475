/// What the server itself has to know of a request's head, and its judgement of it.
struct RequestHead {
  enum Encoding: Sendable, Equatable {
    case identity, gzip, deflate, unknown
  }

  private(set) var encoding = Encoding.identity
  private(set) var expectsContinue = false
  private(set) var contentLength: UInt64?
  private(set) var isChunked = false
  private var contentLengths = 0
  private var transferEncodings = 0
  private var contentEncodings = 0
  private var hosts = 0
  private var hasBadName = false
  private var hasBadValue = false
  private var hasBadHost = false
  private var hasBadLength = false
  /// Set when the head's lines aren't what they seem.
  var hasBadLayout = false

  init() {}

  /// Takes a header in, in the order they came.
  mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    // Who comes before us may have read such a name as another one, or such a value as two lines.
    if !name.isName { hasBadName = true }
    for byte in value where (byte < 0x20 && byte != 0x09) || byte == 0x7F { hasBadValue = true }
    switch name.count {
    case 4 where name.isToken("host"):
      hosts += 1
      if !Self.isHost(value.trimmed) { hasBadHost = true }
    case 6 where name.isToken("expect"):
      expectsContinue = value.trimmed.isToken("100-continue")
    case 14 where name.isToken("content-length"):
      contentLengths += 1
      contentLength = value.trimmed.decimal
      if contentLength == nil { hasBadLength = true }
    case 16 where name.isToken("content-encoding"):
      contentEncodings += 1
      encoding = contentEncodings > 1 ? .unknown : Self.encoding(value.trimmed)
    case 17 where name.isToken("transfer-encoding"):
      transferEncodings += 1
      // As the library compares it: with a blank behind it, it would wait for a body without end.
      isChunked = transferEncodings == 1 && value.isToken("chunked")
    default: break
    }
  }

  private static func encoding(_ value: UnsafeRawBufferPointer) -> Encoding {
    if value.isEmpty || value.isToken("identity") { return .identity }
    if value.isToken("gzip") || value.isToken("x-gzip") { return .gzip }
    return value.isToken("deflate") ? .deflate : .unknown
  }

  /// Whether this is a host and perhaps a port, as far as its characters go; it may be empty.
  static func isHost(_ text: some Collection<UInt8>) -> Bool {
    let name = text.drop { $0 != UInt8(ascii: "]") }
    // A port stands behind the last colon; those of an IPv6 address are in brackets.
    let rest = name.isEmpty ? text.drop { $0 != UInt8(ascii: ":") } : name.dropFirst()
    guard rest.isEmpty || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy({ $0 &- 0x30 < 10 }) else {
      return false
    }
    return text.allSatisfy { byte in
      switch byte {
      case 0...0x20, 0x7F..., UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"),
        UInt8(ascii: "@"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "^"),
        UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
        false
      default: true
      }
    }
  }

  var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }

  /// What is wrong with the way the body's end is told; nil when nothing is.
  func badFraming(isHTTP10: Bool) -> String? {
    if hasBadLayout { return "a header that goes on in a further line, or has a zero byte" }
    if hasBadName { return "white space in or around a header's name, or another character that no name has" }
    if hasBadValue { return "a control character in a header" }
    if hosts == 0, !isHTTP10 { return "no Host" }
    if hosts > 1 { return "more than one Host" }
    if hasBadHost { return "a Host that is no host and port" }
    if contentLengths > 1 { return "more than one Content-Length" }
    if hasBadLength { return "Content-Length is not a plain number" }
    guard transferEncodings > 0 else { return nil }
    if contentLengths > 0 { return "both Content-Length and Transfer-Encoding" }
    if isHTTP10 { return "Transfer-Encoding in HTTP/1.0" }
    return isChunked ? nil : "a Transfer-Encoding other than chunked"
  }
}

extension UnsafeRawBufferPointer {
  /// Whether this is the token, which is given in lower case, in any case.
  func isToken(_ token: StaticString) -> Bool {
    guard count == token.utf8CodeUnitCount else { return false }
    for index in 0..<count {
      let byte = self[index]
      let lower = byte &- 0x41 < 26 ? byte | 0x20 : byte
      if lower != token.utf8Start[index] { return false }
    }
    return true
  }

  /// Whether this is a word as methods and headers' names are: letters, digits and some signs (RFC 9110, `token`).
  var isName: Bool {
    guard !isEmpty else { return false }
    for byte in self {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "!"),
        UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "."),
        UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
        continue
      default: return false
      }
    }
    return true
  }

  /// Without the spaces and tabs around it.
  var trimmed: UnsafeRawBufferPointer {
    var slice = self[...]
    while let byte = slice.first, byte == 0x20 || byte == 0x09 { slice.removeFirst() }
    while let byte = slice.last, byte == 0x20 || byte == 0x09 { slice.removeLast() }
    return UnsafeRawBufferPointer(rebasing: slice)
  }

  /// The number, when there are digits and nothing else.
  var decimal: UInt64? {
    guard !isEmpty else { return nil }
    var value: UInt64 = 0
    for byte in self {
      guard byte &- 0x30 < 10 else { return nil }
      let (scaled, over) = value.multipliedReportingOverflow(by: 10)
      let (sum, tooMuch) = scaled.addingReportingOverflow(UInt64(byte - 0x30))
      if over || tooMuch { return nil }
      value = sum
    }
    return value
  }
}
