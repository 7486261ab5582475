import CCrypto
import Clocks

/// Signs a request as the Standard Webhooks specification (1.0.0) has it.
enum WebhookSignature {
  /// The header lines that a receiver verifies a body by.
  ///
  /// `webhook-signature` has one signature for each secret, a space between them: HMAC-SHA256 over
  /// `<id>.<seconds>.<body>`. Without a secret there is none.
  ///
  /// - Parameter moment: when this attempt is made; receivers refuse what is minutes old.
  static func headers(
    id: String, moment: Timestamp, body: UnsafeRawBufferPointer, secrets: [WebhookSecret]
  ) -> [String] {
    let seconds = moment.milliseconds / 1000
    var lines = ["webhook-id: \(id)", "webhook-timestamp: \(seconds)"]
    guard !secrets.isEmpty else { return lines }
    let signatures = secrets.map { secret in
      "v1,\(Base64.encode(code(key: secret.key, Array("\(id).\(seconds).".utf8), body)))"
    }
    lines.append("webhook-signature: \(signatures.joined(separator: " "))")
    return lines
  }

  /// The id of a request: `msg_` and 32 hexadecimal digits that depend on the destination and every byte of the body.
  ///
  /// So the same bytes have the same id, whoever sends them again and when; and no two bodies share one, which a receiver
  /// that drops repeated ids would lose events by.
  static func id(of body: UnsafeRawBufferPointer, destination: String) -> String {
    let hash = code(key: Array("event-relay webhook-id 1".utf8), Array("\(destination)\n".utf8), body)
    let digits = Array("0123456789abcdef".utf8)
    let hex = hash.prefix(16).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    return "msg_" + String(decoding: hex, as: UTF8.self)
  }

  /// HMAC-SHA256 of two pieces, one behind the other: 32 bytes.
  private static func code(key: [UInt8], _ first: [UInt8], _ second: UnsafeRawBufferPointer) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: 32)
    let done = crypto_hmac_sha256(
      key, key.count, first, first.count, second.baseAddress, second.count, &code)
    precondition(done == 1, "libcrypto makes no HMAC-SHA256; is OpenSSL's default provider switched off?")
    return code
  }
}
