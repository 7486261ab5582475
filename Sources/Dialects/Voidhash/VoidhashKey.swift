/// The two sorts of keys. A publishable one may stand anywhere, in apps on phones too; a secret one only in its header.
enum VoidhashKey {
  static let publishablePrefix = "vh_pk_"
  static let secretPrefix = "vh_sk_"

  static func isSecret(_ key: String) -> Bool { key.hasPrefix(secretPrefix) }

  /// The key of a request: its body's, else a header's.
  ///
  /// - Parameter token: the member of the body. Null and an empty text are no key.
  static func key(_ token: JSONField, _ request: any IncomingRequest) -> BodyKey {
    if !token.isAbsent, !token.isNull {
      guard let key = token.text else {
        return .refused("The body's token is no string; send the app's publishable key (\(publishablePrefix)…) in it.")
      }
      if isSecret(key) {
        return .refused(
          "The body's token is a secret key (\(secretPrefix)…), and those are taken in the x-secret-key header only; "
            + "send the app's publishable key (\(publishablePrefix)…) in the body.")
      }
      if !key.isEmpty { return .key(key) }
    }
    for key in [request.header("x-publishable-key"), request.header("x-secret-key")] {
      if let key, !key.isEmpty { return .key(key) }
    }
    return .missing
  }
}
