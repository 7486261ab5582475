/// What tells one archive from another: 16 random bytes, made with it; in text 32 hexadecimal digits.
public struct ArchiveID: Sendable, Hashable, CustomStringConvertible {
  public static let byteCount = 16
  let bytes: [UInt8]

  init?(bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  /// Nil unless the text is 32 digits, 0–9 and a–f.
  public init?(_ text: String) {
    guard let bytes = Hex.bytes(text) else { return nil }
    self.init(bytes: bytes)
  }

  init(_ source: RandomBytes.Source) {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    bytes.withUnsafeMutableBytes(source)
    self.bytes = bytes
  }

  public var description: String { Hex.text(bytes) }
}
