import CCrypto
import Clocks

/// What the certificates of a PEM file say of themselves.
public struct CertificateFacts: Sendable, Equatable {
  /// When the first of them that ends, ends.
  public var expires: Timestamp
  /// When the last of them that begins, begins.
  public var begins: Timestamp
  /// The public key of the first, as `sha256//` and the Base64 of its SHA-256.
  public var keyPin: String

  public init(expires: Timestamp, begins: Timestamp, keyPin: String) {
    self.expires = expires
    self.begins = begins
    self.keyPin = keyPin
  }

  /// Nil when the bytes hold no certificate, or one that can't be read.
  public init?(pem bytes: [UInt8]) {
    var facts = crypto_pem_facts()
    guard bytes.withUnsafeBytes({ crypto_pem_certificates($0.baseAddress, $0.count, &facts) }) == 0 else { return nil }
    expires = Timestamp(milliseconds: facts.expires * 1000)
    begins = Timestamp(milliseconds: facts.begins * 1000)
    keyPin = withUnsafeBytes(of: &facts.key_pin) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
