/// Delays between attempts at something local that fails: 1 s, then the double each time, up to 30 s.
struct Backoff: Sendable, Equatable {
  static let initial: Duration = .seconds(1)
  static let max: Duration = .seconds(30)

  private var following = Self.initial

  /// The delay after one more failure.
  mutating func next() -> Duration {
    defer { following = min(following * 2, Self.max) }
    return following
  }

  mutating func reset() { following = Self.initial }
}
