import Clocks

/// Which dead letters are meant; what is nil doesn't matter.
public struct DeadLetterFilter: Sendable, Equatable {
  public var destination, app, code: String?
  /// When they were given up: from `since` on, and before `until`.
  public var since, until: Timestamp?
  /// Whether those count that were put back to their destination.
  public var includesReplayed: Bool

  public init(
    destination: String? = nil, app: String? = nil, code: String? = nil, since: Timestamp? = nil,
    until: Timestamp? = nil, includesReplayed: Bool = false
  ) {
    self.includesReplayed = includesReplayed
    self.destination = destination
    self.app = app
    self.code = code
    self.since = since
    self.until = until
  }

  func admits(_ letter: DeadLetterSummary) -> Bool {
    if letter.isReplayed, !includesReplayed { return false }
    if let destination, letter.destination != destination { return false }
    if let app, letter.app != app { return false }
    if let code, letter.code != code { return false }
    // Moments are written in one form, whose order is that of time.
    if let since, letter.at < since.description { return false }
    if let until, letter.at >= until.description { return false }
    return true
  }
}
