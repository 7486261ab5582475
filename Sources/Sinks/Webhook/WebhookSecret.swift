/// A secret of the Standard Webhooks specification: `whsec_` and 24 to 64 random bytes in Base64. Never printed.
struct WebhookSecret: Sendable, Equatable {
  static let prefix = "whsec_"
  /// Bytes of the key.
  static let keyBytes = 24...64
  static let noun =
    "a secret of \(keyBytes.lowerBound) to \(keyBytes.upperBound) random bytes: `\(prefix)` and their Base64"

  /// What it is signed with.
  let key: [UInt8]
  /// As it is written, to be found in what others say.
  let text: String

  /// Why a text is no secret: a predicate that doesn't hold the text.
  struct Misfit: Error, Equatable {
    var problem: String
  }

  init(_ text: String) throws(Misfit) {
    guard text.hasPrefix(Self.prefix) else {
      if text.hasPrefix("whsk_") || text.hasPrefix("whpk_") {
        throw Misfit(problem: "is a key for ed25519 signatures, which event-relay doesn't make")
      }
      throw Misfit(problem: "doesn't begin with \(Self.prefix)")
    }
    guard let key = Base64.decode(text.dropFirst(Self.prefix.count)) else {
      throw Misfit(problem: "isn't Base64 after \(Self.prefix): letters, digits, + and /, with = at the end")
    }
    guard Self.keyBytes.contains(key.count) else {
      throw Misfit(problem: "stands for \(key.count) bytes")
    }
    self.key = key
    self.text = text
  }
}

extension WebhookSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  var description: String { "(secret)" }
  var debugDescription: String { description }
  var customMirror: Mirror { Mirror(self, children: []) }
}
