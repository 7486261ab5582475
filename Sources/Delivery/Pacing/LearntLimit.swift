/// A key's limit as experience has it: down to what was used when the upstream refused more, and slowly up again.
struct LearntLimit: Sendable, Equatable {
  /// The configured limit, less the margin.
  let most: Int
  let window: Duration
  private var learnt: Int
  private var since: ContinuousClock.Instant?

  /// Of the configured limit, so much comes back with each window without a refusal.
  static let recovery = 10
  /// It is never taken for less than this share of the configured limit: one over so many.
  static let leastShare = 100

  init(most: Int, window: Duration) {
    self.most = most
    self.window = window
    learnt = most
  }

  func limit(at now: ContinuousClock.Instant) -> Int {
    guard let since, learnt < most else { return most }
    let windows = max(0, (now - since) / window)
    // (More windows than the recovery takes would overflow nothing, but are no use.)
    let back = Int(Double(most) * min(windows, Double(Self.recovery)) / Double(Self.recovery))
    return min(most, learnt + back)
  }

  /// The key was refused when so many of its events counted.
  mutating func refused(used: Int, at now: ContinuousClock.Instant) {
    learnt = max(1, most / Self.leastShare, min(used, limit(at: now) * 3 / 4))
    since = now
  }
}
