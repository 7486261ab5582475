extension ConnectionTimer {
  /// How little a connection would be missed: the least goes first when there is no room for another one.
  struct Displacement: Sendable, Comparable {
    enum Kind: Int, Sendable { case idle, silent, slowHead, slowBody }
    var kind: Kind
    /// Since when, in nanoseconds of the monotonic clock.
    var since: UInt64

    static func < (one: Displacement, other: Displacement) -> Bool {
      (one.kind.rawValue, one.since) < (other.kind.rawValue, other.since)
    }
  }

  /// For how long a client may have said nothing, or be at a request's head, before it makes way for others.
  static let headPatience: UInt64 = 1_000_000_000
  /// The same for a body, which is larger.
  static let bodyPatience: UInt64 = 5_000_000_000

  /// Whether it makes way for a new connection when there are as many as there may be; nil: it doesn't. Who is quick is
  /// never told to go, nor who waits for an answer: those who dribble can't keep others out.
  func displacement(now: UInt64) -> Displacement? {
    let spent = now - min(since, now)
    switch phase {
    case .watched: return Displacement(kind: .idle, since: since)
    case .fresh: return spent >= Self.headPatience ? Displacement(kind: .silent, since: since) : nil
    case .head: return spent >= Self.headPatience ? Displacement(kind: .slowHead, since: since) : nil
    case .body, .discarding:
      return spent >= Self.bodyPatience ? Displacement(kind: .slowBody, since: since) : nil
    case .idle, .handling, .answering, .lingering: return nil
    }
  }
}
