/// What a request asks for, as it was sent.
struct Target: Sendable, Equatable {
  var path: String
  var query: String?
  /// The host, and its port, of a whole URL.
  var authority: String?
  /// A space, a control character or a `#` is in it: where it ends is anybody's guess.
  private let hasBadByte: Bool
  /// It's a path or a whole URL of this kind of server.
  private let isServed: Bool
  /// It's `*`: the server as a whole.
  private let isWhole: Bool

  /// Splits a request line's target: the path, or a whole URL as a proxy would be asked.
  init(_ text: UnsafeRawBufferPointer) {
    var rest = text[...]
    hasBadByte = text.contains { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "#") }
    for scheme in ["http://", "https://"] where Self.begins(text, with: scheme) {
      rest = rest.dropFirst(scheme.utf8.count)
      let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
      authority = String(decoding: rest[..<end], as: UTF8.self)
      rest = rest[end...]
    }
    isServed = authority.map { RequestHead.isHost($0.utf8) && !$0.isEmpty } ?? (text.first == UInt8(ascii: "/"))
    isWhole = text.count == 1 && text.first == UInt8(ascii: "*")
    let mark = rest.firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex
    path = String(decoding: rest[..<mark], as: UTF8.self)
    if path.isEmpty { path = "/" }
    query = mark < rest.endIndex ? String(decoding: rest[(mark + 1)...], as: UTF8.self) : nil
  }

  private static func begins(_ text: UnsafeRawBufferPointer, with scheme: String) -> Bool {
    text.count >= scheme.utf8.count && zip(text, scheme.utf8).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && $1 >= 0x61 }
  }

  /// What is wrong with it; nil when nothing is.
  func fault(method: String) -> String? {
    if hasBadByte { return "a space, a control character or a # in the target" }
    if method == "CONNECT" { return "CONNECT, and this is no proxy" }
    if isServed || isWhole && method == "OPTIONS" { return nil }
    return "a target that is neither a path nor a whole URL with a host"
  }
}
