import Clocks

/// Until when the place of a removed sink is kept: a decision on times.
struct RemovedSinkTime: Sendable, Equatable {
  /// A clock so far past the newest event there is at start may be wrong ...
  static let plausibleGap: Duration = .seconds(7 * 86_400)
  /// ... and is believed after so long.
  static let clockPatience: Duration = .seconds(3600)

  var removedAt: Timestamp
  var keep: Duration

  /// Nil: past all times.
  var end: Timestamp? {
    let (end, isOver) = removedAt.milliseconds.addingReportingOverflow(keep.milliseconds)
    return isOver ? nil : Timestamp(milliseconds: end)
  }

  /// Whether the place is to be given up now.
  ///
  /// - Parameters:
  ///   - newest: when the newest event was received that lay in the log at the start; nil: there was none.
  ///   - uptime: since the start.
  func isOver(now: Timestamp, newest: Timestamp?, uptime: Duration) -> Bool {
    if keep == .zero { return true }
    guard let end, now >= end else { return false }
    let isDoubtful = newest.map { now - $0 > Self.plausibleGap } ?? true
    return !isDoubtful || uptime >= Self.clockPatience
  }

  /// What becomes of it, in words.
  var sentence: String {
    guard keep > .zero else { return "positions.keep is 0, so that it is given up at once" }
    guard let end else { return "its place is kept" }
    return "its place is kept until \(end) (positions.keep); what it is still owed then is dropped"
  }
}
