import Clocks
import EventLog
import Observability

/// What a sink of files does about its failures: says each, waits longer each time, and says when it is over.
struct SinkTroubles {
  private(set) var condition = SinkCondition()
  /// The next attempt; nil when none waits.
  private(set) var retryAt: ContinuousClock.Instant?
  private var backoff = Backoff()

  var isFailing: Bool { condition.failure != nil }

  /// Something failed.
  ///
  /// - Parameters:
  ///   - failure: what is wrong and what to do, in a sentence.
  ///   - delay: until the next attempt; nil: longer each time.
  /// - Returns: when that is.
  mutating func add(
    _ failure: String, retryAfter delay: Duration? = nil, at now: ContinuousClock.Instant, _ clock: WallClock,
    _ logger: Logger, about sink: String
  ) -> ContinuousClock.Instant {
    let delay = delay ?? backoff.next()
    retryAt = now + delay
    condition.failure = failure
    condition.lastError = failure
    condition.retryAt = clock.now + delay
    logger.warning(
      "sink can't write and tries again", about: sink,
      ["error": .text(failure), "after": .seconds(delay.seconds)])
    return now + delay
  }

  /// Something went all the way: a write that works says nothing while the sync still fails.
  mutating func end(_ logger: Logger, about sink: String) {
    retryAt = nil
    backoff.reset()
    guard isFailing else { return }
    condition.failure = nil
    condition.retryAt = nil
    logger.info("sink works again", about: sink)
  }
}
