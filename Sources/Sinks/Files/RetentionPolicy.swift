import Clocks

/// Which of a sink's files are too old: facts in, a decision out.
struct RetentionPolicy: Sendable, Equatable {
  var retention: Duration

  /// How often a sink looks for old files.
  static let interval: Duration = .seconds(3600)

  /// A start with the clock this far ahead of the newest event written may be one with a wrong clock.
  static let plausibleGap: Duration = .seconds(7 * 86_400)

  /// Whether the first look for old files waits: what is removed doesn't come back when the clock is set right.
  static func waitsForClock(newest: Timestamp, now: Timestamp) -> Bool {
    newest.milliseconds > 0 && now - newest > plausibleGap
  }

  /// Whether a whole file goes: all that is in it is older than the retention.
  ///
  /// - Parameters:
  ///   - named: when the period in its name ended; nil when the name doesn't tell.
  ///   - modified: when it was last written, which counts when the name doesn't tell.
  func removes(named: Timestamp?, modified: Timestamp, isOpen: Bool, now: Timestamp) -> Bool {
    !isOpen && (named ?? modified) + retention <= now
  }
}
