import Clocks

/// How many events a second a lane delivers, over the last minute.
struct RateMeter: Sendable {
  static let window: Duration = .seconds(60)

  private var count = SlidingCount(window: Self.window, parts: 12)
  private var began: ContinuousClock.Instant?

  mutating func add(_ events: Int, at now: ContinuousClock.Instant) {
    if count.isIdle(at: now) { began = now }
    count.add(events, until: now + Self.window)
  }

  /// Events a second; nil when nothing was delivered lately.
  mutating func rate(at now: ContinuousClock.Instant) -> Double? {
    let events = count.used(at: now)
    guard events > 0, let began else { return nil }
    return Double(events) / min(max((now - began).seconds, 1), Self.window.seconds)
  }
}
