import Clocks

/// How long to wait before the next try.
///
/// With the defaults and without jitter, over one outage:
///
/// | try that failed | answer | wait |
/// |---|---|---|
/// | 1st | 503 | 1 s |
/// | 2nd | none | 2 s |
/// | 3rd | 503, Retry-After: 20 | 20 s: the longer one |
/// | 4th | 429, Retry-After: 7 | 7 s: what the upstream says |
/// | 5th | 429 | 16 s |
/// | 6th | 503 | 30 s |
/// | 7th | 503 | 30 s: the breaker opens, since this is the fifth failure but the 429s |
/// | 8th, 9th, 10th | 503 | 60 s, 120 s, 240 s |
/// | 11th and later | 503 | 300 s |
/// | then | any other answer | (from the start) |
///
/// Jitter only ever adds, and only to our own delay.
struct VoidhashDelays {
  /// So many failures in a row that aren't 429s open the breaker; each further one opens it again.
  static let breakerFailures = 5
  static let breakerDelay: Duration = .seconds(30)
  static let breakerDelayMax: Duration = .seconds(300)
  /// The least wait after several tries in a row, unless the configured delays begin with a shorter one.
  private static let repeatedMin: Duration = .seconds(1)

  private let retry: RetryDelays

  init(_ retry: RetryDelays) { self.retry = retry }

  func wait(after failure: FailedTries) -> Duration {
    if failure.isRateLimited, let asked = failure.asked {
      // "At once" is believed once; an upstream that says it again and again would be asked thousands of times a second.
      return failure.count > 1 ? max(asked.delay, min(retry.initial, Self.repeatedMin)) : asked.delay
    }
    let plain = Self.doubled(retry.initial, failure.count - 1, upTo: retry.max)
    let jittered = plain + plain * (retry.jitter * min(max(failure.roll, 0), 1))
    let own = max(jittered, failure.asked?.delay ?? .zero)
    return failure.isRateLimited ? own : max(own, breaker(after: failure.count - failure.rateLimited))
  }

  /// How long the breaker stays open after so many failures that aren't 429s.
  private func breaker(after failures: Int) -> Duration {
    guard failures >= Self.breakerFailures else { return .zero }
    return Self.doubled(Self.breakerDelay, failures - Self.breakerFailures, upTo: Self.breakerDelayMax)
  }

  /// A delay doubled so many times.
  private static func doubled(_ delay: Duration, _ times: Int, upTo limit: Duration) -> Duration {
    var delay = delay
    var left = times
    while left > 0, delay > .zero, delay < limit {
      delay *= 2
      left -= 1
    }
    return min(delay, limit)
  }
}
