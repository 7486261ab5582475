/// A SHA-256 hash: 32 bytes; in text 64 hexadecimal digits in lower case.
public struct Digest: Sendable, Hashable, CustomStringConvertible {
  public static let byteCount = 32

  // The bytes in their order, whatever the machine's: only ever looked at through `withUnsafeBytes`.
  private var words: Words

  private struct Words: Sendable, Hashable {
    var first: UInt64 = 0
    var second: UInt64 = 0
    var third: UInt64 = 0
    var fourth: UInt64 = 0
  }

  /// All zeros: what stands where there is no hash.
  public static let zero = Digest()

  private init() { words = Words() }

  /// Lets a body write the 32 bytes.
  init(_ write: (UnsafeMutableRawBufferPointer) -> Void) {
    words = Words()
    withUnsafeMutableBytes(of: &words, write)
  }

  /// The first 32 of some bytes; nil when they are fewer.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.byteCount else { return nil }
    self.init { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<Self.byteCount])) }
  }

  /// Nil unless the text is 64 digits, 0–9 and a–f.
  public init?(_ text: String) {
    guard let bytes = Hex.bytes(text), bytes.count == Self.byteCount else { return nil }
    self.init { $0.copyBytes(from: bytes) }
  }

  public func withUnsafeBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
    Swift.withUnsafeBytes(of: words, body)
  }

  public var description: String { withUnsafeBytes { Hex.text($0) } }
}

/// Bytes as hexadecimal digits in lower case.
enum Hex {
  private static let digits = Array("0123456789abcdef".utf8)

  static func text(_ bytes: some Sequence<UInt8>) -> String {
    var out: [UInt8] = []
    for byte in bytes {
      out.append(digits[Int(byte >> 4)])
      out.append(digits[Int(byte & 15)])
    }
    return String(decoding: out, as: UTF8.self)
  }

  /// Nil when the text isn't pairs of such digits.
  static func bytes(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var out: [UInt8] = []
    for at in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(digits[at]), let low = value(digits[at + 1]) else { return nil }
      out.append(high << 4 | low)
    }
    return out
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
