import Clocks

/// Counts the events of a calendar month (UTC) against a plan.
struct MonthlyQuota: Sendable {
  /// Events a month; nil: no end.
  let limit: Int?
  private(set) var used = 0
  private(set) var year = 0
  private(set) var month = 0

  init(limit: Int?) { self.limit = limit }

  private mutating func turn(to moment: Timestamp) {
    let date = moment.calendarDate
    guard (date.year, date.month) != (year, month) else { return }
    (year, month) = (date.year, date.month)
    used = 0
  }

  /// Whether so many new events may still be stored: up to 110 % of the plan.
  func allows(_ events: Int, at moment: Timestamp) -> Bool {
    guard let limit, events > 0 else { return true }
    let date = moment.calendarDate
    let used = (date.year, date.month) == (year, month) ? used : 0
    return used + events <= limit + limit / 10
  }

  mutating func count(_ events: Int, at moment: Timestamp) {
    turn(to: moment)
    used += events
  }

  /// Counts events that were stored before; those of another month than `now` count for nothing.
  mutating func recount(_ events: Int, storedAt: Timestamp, now: Timestamp) {
    let (one, other) = (storedAt.calendarDate, now.calendarDate)
    if (one.year, one.month) == (other.year, other.month) { count(events, at: now) }
  }
}
