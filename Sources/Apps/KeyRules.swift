import CCrypto

/// What a key may look like, and what stands for it where it mustn't be shown.
enum KeyRules {
  /// Bytes.
  static let lengthMax = 256

  /// Whether the bytes can be a key: visible ASCII, so that none can end a header line and begin another.
  static func isKey(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 1 && bytes.count <= lengthMax && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }

  static func isKey(_ key: String) -> Bool {
    var key = key
    return key.withUTF8 { isKey(UnsafeRawBufferPointer($0)) }
  }

  /// The key's SHA-256 as 64 hex digits.
  static func digest(of key: String) -> String {
    var key = key
    var digest = [UInt8](repeating: 0, count: 32)
    let isMade = key.withUTF8 { crypto_sha256($0.baseAddress, $0.count, &digest) }
    // The digest names apps: a wrong one would mix them up.
    precondition(isMade == 1, "libcrypto has no SHA-256; is its configuration (openssl.cnf) sound?")
    let hex = Array("0123456789abcdef".utf8)
    return String(decoding: digest.flatMap { [hex[Int($0 >> 4)], hex[Int($0 & 15)]] }, as: UTF8.self)
  }
}
