import Clocks
import Synchronization

/// An app that a sender's key has made.
final class OwnApp: Sendable {
  static let metricLabel = "other"

  let app: App
  let key: String
  /// Milliseconds on the wall clock.
  private let lastRequest: Atomic<Int64>

  init(name: String, key: String, now: Timestamp) {
    app = App(name: name, metricLabel: Self.metricLabel)
    self.key = key
    lastRequest = Atomic(now.milliseconds)
  }

  func touch(_ now: Timestamp) { lastRequest.store(now.milliseconds, ordering: .relaxed) }

  func isIdle(at now: Timestamp, for duration: Duration) -> Bool {
    now - Timestamp(milliseconds: lastRequest.load(ordering: .relaxed)) >= duration
  }

  /// A name for the app of this key: `key-` and as many digits of the key's digest, 8 or more, as set it apart from those taken.
  static func name(for key: String, isTaken: (String) -> Bool) -> String? {
    let digest = KeyRules.digest(of: key)
    return (8...64).lazy.map { "key-\(digest.prefix($0))" }.first { !isTaken($0) }
  }

  /// Whether this can be the name of the app of this key.
  static func isName(_ name: some StringProtocol, for key: String) -> Bool {
    name.utf8.count >= 12 && name.hasPrefix("key-") && KeyRules.digest(of: key).hasPrefix(name.dropFirst(4))
  }
}
