/// Counts one app's events over the last minute, second by second: a decision, without a clock.
///
/// A minute is taken as 60 whole seconds and the one under way, so that never more than the limit comes in within any 60
/// seconds. Seconds are counted on a clock that never runs backwards.
struct MinuteWindow: Sendable {
  /// The seconds that are counted together.
  static let seconds = 61

  private var counts = [Int](repeating: 0, count: Self.seconds)
  private var total = 0
  /// The newest second counted.
  private var last: Int64

  init(at second: Int64) { last = second }

  /// Whether nothing of it matters any more.
  func isIdle(at second: Int64) -> Bool { second - last >= Int64(Self.seconds) }

  /// Takes events in if they fit.
  /// - Returns: 0 when they are taken in, else the seconds after which they would fit if nothing else came.
  mutating func take(_ events: Int, limit: Int, at second: Int64) -> Int {
    advance(to: second)
    guard total + events > limit else {
      counts[slot(last)] += events
      total += events
      return 0
    }
    // The oldest second falls out first; after the last one everything would fit that ever does.
    var left = total
    for wait in 1...Self.seconds {
      left -= counts[slot(last + Int64(wait))]
      if left + events <= limit { return wait }
    }
    return Self.seconds
  }

  /// Takes events out again that were taken in at a second, since they were not stored.
  mutating func giveBack(_ events: Int, takenAt second: Int64) {
    guard last - second < Int64(Self.seconds) else { return }
    let given = min(events, counts[slot(second)])
    counts[slot(second)] -= given
    total -= given
  }

  private mutating func advance(to second: Int64) {
    guard second > last else { return }
    for past in max(last + 1, second - Int64(Self.seconds) + 1)...second {
      total -= counts[slot(past)]
      counts[slot(past)] = 0
    }
    last = second
  }

  private func slot(_ second: Int64) -> Int {
    Int(((second % Int64(Self.seconds)) + Int64(Self.seconds)) % Int64(Self.seconds))
  }
}
