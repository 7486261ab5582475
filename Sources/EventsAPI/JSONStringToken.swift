import CSimdjson

/// A JSON string as it stands in a body that is known to be JSON.
enum JSONStringToken {
  /// The text of a whole token, quotes included; a lone surrogate becomes U+FFFD.
  static func unescaped(_ token: ArraySlice<UInt8>) -> String {
    token.withUnsafeBytes { unescaped($0.baseAddress!, length: $0.count) }
  }

  /// The text of the whole token, quotes included, of so many bytes.
  static func unescaped(_ token: UnsafeRawPointer, length: Int) -> String {
    let bytes = [UInt8](unsafeUninitializedCapacity: max(length, 1)) { buffer, count in
      count = json_text_unescape(token + 1, length - 2, json_surrogates_replaced, buffer.baseAddress, buffer.count)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The text of the token whose opening quote is the buffer's first byte.
  static func unescaped(at start: UnsafeRawBufferPointer) -> String {
    guard start.first == UInt8(ascii: "\"") else { return "" }
    var end = 1
    while end < start.count, start[end] != UInt8(ascii: "\"") {
      end += start[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < start.count else { return "" }
    return unescaped(start.baseAddress!, length: end + 1)
  }
}
