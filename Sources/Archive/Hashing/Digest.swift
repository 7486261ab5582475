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
