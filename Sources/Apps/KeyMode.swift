/// Which keys senders may present.
public enum KeyMode: String, Sendable, CaseIterable {
  /// Every key: one that no app lists makes an app of its own.
  case any
  /// Only those which an app lists.
  case listed
}
