/// Keeps a replay to so many events a second. A pause isn't made up for afterwards: a destination that was away is not met
/// with a burst.
struct ReplayPace: Sendable {
  private static let portionsPerSecond = 5

  /// Events a second; nil: no limit.
  let rate: Int?
  /// When the next portion may be sent.
  private var next: ContinuousClock.Instant

  init(rate: Int?, from now: ContinuousClock.Instant) {
    self.rate = rate
    next = now
  }

  /// Events that are sent together.
  func portion(max: Int) -> Int { rate.map { min(max, Swift.max(1, $0 / Self.portionsPerSecond)) } ?? max }

  /// Events that may wait in the queue: with a rate no more than a second's.
  func waiting(max: Int) -> Int { rate.map { min(max, Swift.max($0, 1)) } ?? max }

  /// How long to wait before the next portion; nil: it may be sent.
  func delay(at now: ContinuousClock.Instant) -> Duration? { rate != nil && now < next ? next - now : nil }

  mutating func sent(_ events: Int, at now: ContinuousClock.Instant) {
    guard let rate else { return }
    next = max(next, now) + .nanoseconds(Int64(events) * 1_000_000_000 / Int64(max(rate, 1)))
  }
}
