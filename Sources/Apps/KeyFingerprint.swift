/// What stands for a key where the key mustn't.
public enum KeyFingerprint {
  /// 16 hex digits of the key's SHA-256.
  public static func of(_ key: String) -> String { String(KeyRules.digest(of: key).prefix(16)) }
}
