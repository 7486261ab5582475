import Clocks

/// How long a lane takes for what waits now.
struct DrainEstimate: Sendable {
  var pending: Int
  /// Events a second that were delivered lately; nil when none were.
  var rate: Double?
  /// Events of the install of which most are parked.
  var longestParked: Int
  /// Until the next try.
  var wait: Duration
  /// Nobody knows when it goes on.
  var isHeld: Bool

  /// Nil when nobody can tell: nothing moves, and no limit says how fast it may.
  ///
  /// - Parameter countsRequests: the key's limit is one of requests, which may hold several events each.
  func duration(_ limit: RateLimit, countsRequests: Bool = false) -> Duration? {
    guard pending > 0 else { return .zero }
    if isHeld { return nil }
    let allowed = limit.keyMax.map { Double($0) / limit.window.seconds }
    // (What is sent at first, while the limit isn't used up yet, goes faster than the rest will.)
    let bounds = countsRequests && rate != nil ? [rate] : [rate, allowed]
    guard let usual = bounds.compactMap(\.self).min(), usual > 0 else { return nil }
    let all = Double(pending) / usual
    let parked = limit.installMax.map { Double(longestParked) / Double($0) * limit.window.seconds } ?? 0
    return wait + .milliseconds(Int64(max(all, parked) * 1000))
  }
}
