import Clocks
import EventLog

/// What a webhook knows of its sending, in numbers and a sentence. It decides, and does nothing.
///
/// One batch at a time is under way. The circuit opens with the fifth failure in a row: from then on a refused batch, too,
/// lets the next one wait, so that a receiver that is broken gets one batch a delay, and a wrong URL doesn't send everything
/// to the dead letters at full speed.
struct WebhookState: Sendable, Equatable {
  static let failuresToOpen = 5
  private static let failuresMax = 1_000_000

  /// Attempts in a row, over all batches, that were not delivered.
  private(set) var failures = 0
  /// How often the batch at the front was sent.
  private(set) var attempts = 0
  private(set) var delay: WebhookDelay?
  /// What is told when it isn't simply running.
  private(set) var notice: Notice?
  /// The receiver answered 410.
  private(set) var isGone = false
  /// How long the batch at the front has been tried, up to `countedAt`.
  private var tried: Duration = .zero
  /// Nil before its first attempt.
  private var countedAt: ContinuousClock.Instant?

  struct Notice: Sendable, Equatable {
    var state: DestinationStatus.State
    var detail: String
  }

  /// What becomes of a batch that was sent.
  enum Consequence: Sendable, Equatable {
    case delivered
    /// It stays at the front.
    case kept
    /// It is given up.
    case buried(WebhookBurial)
  }

  init() {}

  var isOpen: Bool { failures >= Self.failuresToOpen }

  /// When the next attempt may be made; nil: now. Ask ``isGone`` first.
  func mayAttempt(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
    guard let delay, now < delay.until else { return nil }
    return delay.until
  }

  /// The batch at the front goes out.
  mutating func attempted(at now: ContinuousClock.Instant) {
    attempts += 1
    if countedAt == nil { countedAt = now }
  }

  /// Takes what came of it.
  ///
  /// - Parameter roll: a random number from 0 up to 1.
  mutating func answered(
    _ verdict: WebhookVerdict, _ retry: WebhookRetry, now: ContinuousClock.Instant, wallNow: Timestamp, roll: Double
  ) -> Consequence {
    count(to: now)
    switch verdict {
    case .delivered:
      self = WebhookState()
      return .delivered
    case .gone:
      isGone = true
      delay = nil
      notice = Notice(
        state: .gone,
        detail: "The receiver answered 410, it wants no requests any more: nothing is sent until the configuration is "
          + "reloaded; if it has gone for good, remove this sink.")
      return .kept
    case .refused(let status, let message):
      failures = min(failures + 1, Self.failuresMax)
      delay = isOpen ? wait(retry, nil, now, wallNow, roll) : nil
      notice = Notice(
        state: .refused,
        detail: "The receiver answered \(status): the batch is in the dead letters, with what the receiver said.")
      noteFailures()
      return bury(WebhookBurial(status == 413 ? .tooLarge : .refused, status: status, message: message, attempts))
    case .retry(let trouble, let after):
      failures = min(failures + 1, Self.failuresMax)
      delay = wait(retry, after, now, wallNow, roll)
      notice = Notice(state: trouble.state, detail: trouble.detail)
      noteFailures()
      guard tried >= retry.giveUpAfter else { return .kept }
      return bury(WebhookBurial(.gaveUp, status: trouble.status, message: trouble.detail, attempts))
    }
  }

  /// Lets a receiver that is gone be tried again.
  mutating func reloaded() {
    guard isGone else { return }
    isGone = false
    notice = nil
  }

  /// There is no batch any more of which attempts were made.
  mutating func forgetBatch() {
    attempts = 0
    tried = .zero
    countedAt = nil
  }

  private mutating func bury(_ burial: WebhookBurial) -> Consequence {
    forgetBatch()
    return .buried(burial)
  }

  private func wait(
    _ retry: WebhookRetry, _ after: RetryAfter?, _ now: ContinuousClock.Instant, _ wallNow: Timestamp, _ roll: Double
  ) -> WebhookDelay {
    WebhookDelay(retry.delay(failures: failures, retryAfter: after, roll: roll), now: now, wallNow: wallNow)
  }

  private mutating func noteFailures() {
    guard failures > 1 else { return }
    let ending = isOpen ? ": the circuit is open, one batch is tried at a time." : "."
    notice?.detail += " It is failure \(failures) in a row\(ending)"
  }

  private mutating func count(to now: ContinuousClock.Instant) {
    guard let since = countedAt else { return }
    tried += now - since
    countedAt = now
  }
}

/// Why a batch goes to the dead letters.
struct WebhookBurial: Sendable, Equatable {
  var reason: Outcome
  /// The last answer's status; nil: there was none.
  var status: Int?
  var message: String?
  var attempts: Int

  init(_ reason: Outcome, status: Int?, message: String?, _ attempts: Int) {
    self.reason = reason
    self.status = status
    self.message = message
    self.attempts = max(1, attempts)
  }
}

// Over restarts.
extension WebhookState {
  /// What must be known after a restart; nil when nothing has to. That the receiver is gone is asked anew.
  func record(wallNow: Timestamp) -> WebhookRecord.Trying? {
    guard failures > 0 || attempts > 0 else { return nil }
    return WebhookRecord.Trying(
      failures: failures, attempts: attempts, tried: tried, at: wallNow, retryAt: delay?.retryAt,
      wait: delay?.length ?? .zero, state: notice?.state ?? .running, detail: notice?.detail ?? "")
  }

  /// Takes up what was known before a restart. The time in between counts as trying, by the wall clock.
  init(restored record: WebhookRecord.Trying, now: ContinuousClock.Instant, wallNow: Timestamp) {
    failures = min(record.failures, Self.failuresMax)
    attempts = record.attempts
    tried = record.tried
    if attempts > 0 {
      tried += max(wallNow - record.at, .zero)
      countedAt = now
    }
    delay = record.retryAt.map { WebhookDelay(restored: $0, length: record.wait, now: now, wallNow: wallNow) }
    if failures > 0, record.state != .running, record.state != .gone {
      notice = Notice(state: record.state, detail: record.detail)
    }
  }
}
