/// The requests at the front of a connection's bytes that RFC 9112 leaves no doubt of, whole ones alone: read strictly, and in
/// the simplest way there is.
struct PlainRequests {
  private(set) var requests: [ArrivedRequest] = []
  private var rest: ArraySlice<UInt8>

  init(_ bytes: UnsafeRawBufferPointer) {
    rest = Array(bytes)[...]
    while let request = next() { requests.append(request) }
  }

  private mutating func next() -> ArrivedRequest? {
    guard requests.count < 8, let words = line()?.split(separator: " ", omittingEmptySubsequences: false),
      words.count == 3, words[0] == "POST" || words[0] == "PUT", words[2] == "HTTP/1.1", words[1].hasPrefix("/"),
      words[1].unicodeScalars.allSatisfy({ isPlain($0) }), let headers = headers(), let body = body(headers)
    else { return nil }
    return ArrivedRequest(method: String(words[0]), path: String(words[1]), body: body)
  }

  /// Up to the empty line; nil when one of them leaves a doubt.
  private mutating func headers() -> [String: String]? {
    var headers: [String: String] = [:]
    while let line = line() {
      if line.isEmpty { return headers }
      guard let colon = line.firstIndex(of: ":") else { return nil }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...]
      guard ["host", "content-length", "transfer-encoding", "x"].contains(name), headers[name] == nil,
        value.hasPrefix(" ")
      else { return nil }
      headers[name] = String(value.dropFirst())
    }
    return nil
  }

  private func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~".unicodeScalars.contains(scalar)
  }

  /// Up to the next CR LF, of visible characters and spaces alone.
  private mutating func line() -> String? {
    guard let end = rest.firstRange(of: [0x0D, 0x0A]) else { return nil }
    let line = rest[..<end.lowerBound]
    guard line.count <= 512, line.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
    rest = rest[end.upperBound...]
    return String(decoding: line, as: UTF8.self)
  }

  private mutating func body(_ headers: [String: String]) -> [UInt8]? {
    guard let host = headers["host"], !host.isEmpty, host.allSatisfy({ $0.isLetter || $0.isNumber }) else { return nil }
    if let coding = headers["transfer-encoding"] {
      guard coding == "chunked", headers["content-length"] == nil else { return nil }
      return chunks()
    }
    guard let text = headers["content-length"] else { return [] }
    guard (1...4).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let length = Int(text), length <= rest.count
    else { return nil }
    defer { rest = rest.dropFirst(length) }
    return Array(rest.prefix(length))
  }

  private mutating func chunks() -> [UInt8]? {
    var out: [UInt8] = []
    while let size = line() {
      guard (1...4).contains(size.utf8.count), size.utf8.allSatisfy({ isHex($0) }), let count = Int(size, radix: 16)
      else { return nil }
      if count == 0 { return line() == "" ? out : nil }
      guard rest.count >= count + 2 else { return nil }
      out += rest.prefix(count)
      rest = rest.dropFirst(count)
      guard rest.starts(with: [0x0D, 0x0A]) else { return nil }
      rest = rest.dropFirst(2)
    }
    return nil
  }

  private func isHex(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
  }
}
