import Clocks
import EventsAPI

/// Keeps a lane's queue from burning when the upstream refuses its key, or its account's month is used up.
///
/// | refusal in a row | with `hold` | with `dead_letter` |
/// |---|---|---|
/// | 1st, 2nd | the batch goes to the dead letters, the next is sent | the same |
/// | 3rd | the batch goes to the dead letters; the breaker opens, the rest waits | the same as the 1st, and so on |
/// | a probe | it is put back; the next comes after the same wait | |
/// | any other answer of the API, another key | it closes | |
///
/// Where a protocol wants that, a refused key is paused instead, and nothing goes to the dead letters: ``KeyPause``.
///
/// | refused | probes |
/// |---|---|
/// | 401, and a 403 that isn't the quota | every minute |
/// | 403 `quota_exceeded` | every hour, and when the month begins (UTC) |
struct RefusalBreaker: Sendable, Equatable {
  enum Cause: String, Sendable {
    case key
    case quota

    init(status: Int, code: String) { self = status == 403 && code == "quota_exceeded" ? .quota : .key }
  }

  enum Step: Sendable, Equatable {
    /// The batch goes to the dead letters, the next follows.
    case deadLetter
    /// The batch goes to the dead letters; the lane waits.
    case deadLetterAndOpen(wait: Duration)
    /// The batch waits with the rest.
    case putBack(wait: Duration)
  }

  static let opensAfter = 3
  static let keyProbe: Duration = .seconds(60)
  static let quotaProbe: Duration = .seconds(3600)

  /// Refusals in a row.
  private(set) var refusals = 0
  private(set) var cause: Cause?

  init() {}

  /// Takes up what was counted before a restart.
  init(refusals: Int, cause: Cause?) {
    self.refusals = refusals
    self.cause = refusals > 0 ? cause : nil
  }

  var isOpen: Bool { refusals >= Self.opensAfter }

  /// - Parameters:
  ///   - holds: what waits is held; else each refused batch goes to the dead letters.
  mutating func refused(_ cause: Cause, holds: Bool, wallNow: Timestamp) -> Step {
    self.cause = cause
    guard holds else {
      refusals = 1
      return .deadLetter
    }
    let wasOpen = isOpen
    refusals = min(refusals + 1, Self.opensAfter)
    if wasOpen { return .putBack(wait: Self.wait(cause, wallNow)) }
    return isOpen ? .deadLetterAndOpen(wait: Self.wait(cause, wallNow)) : .deadLetter
  }

  /// Another answer of the API came, or there is another key.
  mutating func close() { self = RefusalBreaker() }

  static func wait(_ cause: Cause, _ wallNow: Timestamp) -> Duration {
    switch cause {
    case .key: keyProbe
    case .quota: min(quotaProbe, nextMonth(after: wallNow) - wallNow)
    }
  }

  /// When the next month begins, in UTC.
  static func nextMonth(after moment: Timestamp) -> Timestamp {
    let date = moment.calendarDate
    let (year, month) = date.month == 12 ? (date.year + 1, 1) : (date.year, date.month + 1)
    return Timestamp(milliseconds: Timestamp.days(year: year, month: month, day: 1) * 86_400_000)
  }
}
