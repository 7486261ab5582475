import Clocks

/// Which of a sink's files are too old: facts in, a decision out.
struct RetentionPolicy: Sendable, Equatable {
  var retention: Duration

  /// How often a sink looks for old files.
  static let interval: Duration = .seconds(3600)

  /// Whether a whole file goes: all that is in it is older than the retention.
  ///
  /// - Parameters:
  ///   - named: when the period in its name ended; nil when the name doesn't tell.
  ///   - modified: when it was last written, which counts when the name doesn't tell.
  func removes(named: Timestamp?, modified: Timestamp, isOpen: Bool, now: Timestamp) -> Bool {
    !isOpen && (named ?? modified) + retention <= now
  }
}
