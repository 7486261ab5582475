import Clocks
import EventLog

/// A wait after a failure or a `Retry-After`: timed by the monotonic clock, carried over a restart by the wall clock.
struct LaneDelay: Sendable, Equatable {
  var until: ContinuousClock.Instant
  /// The same moment by the wall clock.
  var retryAt: Timestamp
  /// The whole wait.
  var length: Duration
  /// `waiting`, `foreign` or `failing`.
  var state: DestinationStatus.State
  /// Why, in a sentence.
  var detail: String
  /// The upstream asked for it: it holds for whatever is sent with the same key.
  var isAsked = false

  init(
    length: Duration, state: DestinationStatus.State, detail: String, now: ContinuousClock.Instant, wallNow: Timestamp,
    isAsked: Bool = false
  ) {
    self.isAsked = isAsked
    until = now + length
    retryAt = wallNow + length
    self.length = length
    self.state = state
    self.detail = detail
  }

  /// Takes up a wait after a restart: what is left of it by the wall clock, and no more than the whole of it, since the
  /// wall clock may have been set back.
  init(restored record: UpstreamRecord.LaneRecord, now: ContinuousClock.Instant, wallNow: Timestamp) {
    let left = min(max(record.retryAt - wallNow, .zero), record.wait)
    until = now + left
    retryAt = wallNow + left
    length = record.wait
    state = record.state
    detail = record.detail
    isAsked = record.isAsked
  }
}
