import Clocks
import EventLog
import EventsAPI

/// What a lane knows of its sending: numbers only, whatever waits. It decides, and does nothing.
struct DeliveryState: Sendable {
  /// Failed tries in a row: how far the doubling of the delay has come.
  private(set) var failures = 0
  private(set) var delay: LaneDelay?
  private(set) var split = SplitRanges()
  /// How often the oldest events were sent, when no split counts for itself.
  private var plainAttempts = 0

  init() {}

  /// Takes up what a lane knew before a restart.
  init(restored record: UpstreamRecord.LaneRecord, now: ContinuousClock.Instant, wallNow: Timestamp) {
    failures = record.failures
    plainAttempts = record.attempts
    delay = LaneDelay(restored: record, now: now, wallNow: wallNow)
  }

  /// How often the events at the front were sent.
  var attempts: Int { split.current?.attempts ?? plainAttempts }

  /// Whether the lane may be forgotten when nothing of it waits.
  var isFresh: Bool { failures == 0 && delay == nil && !split.isActive && plainAttempts == 0 }

  /// What is next.
  ///
  /// | first that holds | next |
  /// |---|---|
  /// | nothing waits | nothing |
  /// | its app has no key | hold |
  /// | a delay runs | wait for its end |
  /// | a refused batch is being halved, or this is another try | send |
  /// | enough for a full batch; the linger is over or skipped | send |
  /// | full by its bytes, perhaps | read, and send if so |
  /// | otherwise | wait for the linger's end |
  func decide(_ facts: LaneFacts, _ limits: BatchLimits) -> LaneDecision {
    guard facts.pendingEvents > 0 else { return .nothing }
    if facts.isKeyless { return .hold }
    if let delay, facts.now < delay.until { return .wait(until: delay.until) }
    if let part = split.current { return .send(lastSequence: part.lastSequence) }
    if attempts > 0 || failures > 0 { return .send(lastSequence: .max) }
    if facts.pendingEvents >= limits.events || facts.skipsLinger || facts.now >= facts.lingerUntil {
      return .send(lastSequence: .max)
    }
    if facts.pendingEvents >= facts.fullFrom { return .sendIfFull(until: facts.lingerUntil) }
    return .wait(until: facts.lingerUntil)
  }

  /// A request has gone out with the events at the front.
  ///
  /// The delay stays on record until an answer settles it: a restart in between must not begin anew.
  mutating func sent() {
    if split.isActive { split.sent() } else { plainAttempts += 1 }
  }

  /// The events up to this number are settled: delivered or dead-lettered, upon an answer that wasn't a failure.
  mutating func settled(through sequence: UInt64) {
    failures = 0
    delay = nil
    plainAttempts = 0
    split.settled(through: sequence)
  }

  /// What to do about a batch that was refused as a whole because of something in it, or its size.
  enum Bisection: Sendable, Equatable {
    /// Its first half is sent alone, then the rest.
    case halved
    /// It is one event: that one is bad.
    case single
  }

  mutating func refusedForContent(_ batch: BatchShape) -> Bisection {
    failures = 0
    delay = nil
    guard batch.count > 1 else { return .single }
    let attempts = attempts
    split.halve(middle: batch.middle, last: batch.last, attempts: attempts)
    plainAttempts = attempts
    return .halved
  }

  /// The part at work holds nothing any more.
  mutating func leaveSplitPart() { split.leaveCurrent() }

  /// The try failed: counts it, and says how long to wait before the next.
  ///
  /// - Parameters:
  ///   - schedule: the configured one; how far it has come is the lane's own.
  ///   - roll: a random number from 0 up to 1.
  mutating func failed(
    _ schedule: RetrySchedule, retryAfter: RetryAfter?, isRateLimited: Bool, roll: Double
  ) -> Duration {
    var schedule = schedule
    schedule.failures = failures
    defer { failures = schedule.failures }
    return schedule.delay(retryAfter: retryAfter, isRateLimited: isRateLimited, roll: roll)
  }

  mutating func wait(_ delay: LaneDelay) { self.delay = delay }

  /// What must survive a restart; nil when nothing has to.
  func record(of lane: Lane, app: String) -> UpstreamRecord.LaneRecord? {
    guard let delay else { return nil }
    return UpstreamRecord.LaneRecord(
      app: app, isReplayed: lane.isReplayed, isAsked: delay.isAsked, retryAt: delay.retryAt, wait: delay.length,
      failures: failures, attempts: attempts,
      state: delay.state, detail: delay.detail)
  }
}

/// The numbers of a batch that was sent.
struct BatchShape: Sendable, Equatable {
  var count: Int
  /// The numbers of its first and last event, and of the last of its first half.
  var first, middle, last: UInt64
}

/// What a batch may hold.
struct BatchLimits: Sendable, Equatable {
  var events: Int
  /// Bytes of a request's body.
  var bytes: Int
}
