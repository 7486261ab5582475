import Clocks

/// A wait before the next attempt: timed by the monotonic clock, carried over a restart by the wall clock.
struct WebhookDelay: Sendable, Equatable {
  var until: ContinuousClock.Instant
  /// The same moment by the wall clock.
  var retryAt: Timestamp
  /// The whole wait.
  var length: Duration

  init(_ length: Duration, now: ContinuousClock.Instant, wallNow: Timestamp) {
    until = now + length
    retryAt = wallNow + length
    self.length = length
  }

  /// Takes up a wait after a restart: what is left of it by the wall clock, and no more than the whole of it, since that
  /// clock may have been set back.
  init(restored retryAt: Timestamp, length: Duration, now: ContinuousClock.Instant, wallNow: Timestamp) {
    let left = min(max(retryAt - wallNow, .zero), length)
    self.init(left, now: now, wallNow: wallNow)
    self.length = length
  }
}
