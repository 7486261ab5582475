import Clocks

/// How long to wait between attempts, and when to give up.
///
/// After the n-th failure in a row the wait is a random part of `initial` × 2ⁿ⁻¹, at most of `max`; never under
/// ``floor``, and never less than the receiver asks for.
struct WebhookRetry: Sendable, Equatable {
  /// No two attempts in a row come closer, unless the schedule itself says so.
  static let floor: Duration = .milliseconds(100)

  var initial: Duration = .seconds(5)
  var max: Duration = .seconds(3600)
  /// A batch that has failed for so long since its first attempt goes to the dead letters.
  var giveUpAfter: Duration = .seconds(3 * 86_400)

  /// - Parameters:
  ///   - failures: in a row, from 1.
  ///   - roll: a random number from 0 up to 1.
  func delay(failures: Int, retryAfter: RetryAfter?, roll: Double) -> Duration {
    let most = longest(failures: failures)
    let jittered = most * Swift.min(Swift.max(roll, 0), 1)
    return Swift.max(jittered, Swift.min(most, Self.floor), retryAfter?.delay ?? .zero)
  }

  private func longest(failures: Int) -> Duration {
    var delay = initial
    for _ in 0..<Swift.min(Swift.max(failures - 1, 0), 62) {
      if delay >= max { break }
      delay *= 2
    }
    return Swift.min(delay, max)
  }
}
