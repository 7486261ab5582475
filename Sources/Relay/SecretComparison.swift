import CCrypto

/// How a secret that somebody shows is compared with the right one.
struct SecretComparison: Sendable {
  /// Whether the two are the same.
  var isSame: @Sendable (_ shown: String, _ secret: String) -> Bool

  /// In a time that tells nothing of the right one: not where the two differ, nor which of them is longer. Its hash takes as
  /// long for every guess, and what a guess takes is its sender's own doing.
  static let constantTime = SecretComparison { shown, secret in
    var (shown, secret) = (shown, secret)
    return shown.withUTF8 { shown in
      secret.withUTF8 { secret in
        crypto_equal(shown.baseAddress, shown.count, secret.baseAddress, secret.count) == 1
      }
    }
  }
}
