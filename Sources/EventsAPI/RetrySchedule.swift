import Clocks

/// How long to wait before the next attempt.
///
/// With the defaults and without jitter, over one outage:
///
/// | attempt that failed | answer | wait |
/// |---|---|---|
/// | 1st | 503 | 30 s |
/// | 2nd | none | 60 s |
/// | 3rd | 429, Retry-After: 7 | 7 s: what the server says |
/// | 4th | 503, Retry-After: 20 | 240 s: the longer one |
/// | 5th | 429 | 480 s |
/// | 6th and later | 503 | 600 s |
/// | 9th | 503, Retry-After: 900 | 900 s: the longer one |
/// | then | any other answer | (reset: the next failure waits 30 s) |
///
/// Jitter only ever adds, and only to our own delay: with 10 % the 30 s are 30 to 33 s, the 600 s up to 660 s.
public struct RetrySchedule: Sendable, Equatable {
  public var initial: Duration
  public var max: Duration
  /// The share of a delay that is added at most: 0.1 for 10 %.
  public var jitter: Double
  /// Failures since the last reset. Kept over a restart, the schedule goes on where it was.
  public var failures: Int

  public init(
    initial: Duration = .seconds(30), max: Duration = .seconds(600), jitter: Double = 0.1, failures: Int = 0
  ) {
    self.initial = initial
    self.max = max
    self.jitter = jitter
    self.failures = failures
  }

  /// Notes a failure, a 429 too, and tells how long to wait.
  ///
  /// - Parameters:
  ///   - retryAfter: what the server asked for. A 429's is obeyed as it is, but that no second try in a row comes at
  ///       once; otherwise the longer of the two delays holds.
  ///   - roll: a random number from 0 up to 1.
  public mutating func delay(retryAfter: RetryAfter? = nil, isRateLimited: Bool = false, roll: Double) -> Duration {
    let plain = ownDelay
    failures = Swift.min(failures + 1, Self.failuresMax)
    if isRateLimited, let retryAfter {
      // "At once" is believed once; a server that says it again and again would be asked thousands of times a second.
      return failures > 1 ? Swift.max(retryAfter.delay, Swift.min(initial, Self.repeatedMin)) : retryAfter.delay
    }
    let jittered = plain + plain * (jitter * Swift.min(Swift.max(roll, 0), 1))
    return Swift.max(jittered, retryAfter?.delay ?? .zero)
  }

  /// Notes an answer that is neither a 429 nor a failure.
  public mutating func reset() { failures = 0 }

  /// The least wait when several tries in a row have failed, unless the schedule begins with a shorter one.
  private static let repeatedMin: Duration = .seconds(1)
  private static let failuresMax = 1_000_000

  private var ownDelay: Duration {
    var delay = initial
    for _ in 0..<Swift.min(Swift.max(failures, 0), 62) {
      if delay >= max { break }
      delay *= 2
    }
    return Swift.min(delay, max)
  }
}
