import Clocks
import EventsAPI

/// The two limits of the API for one key: its own, and its installs'.
struct RateLimits: Sendable {
  enum Scope: String, Sendable, CaseIterable { case key, install }

  struct Refusal: Sendable, Equatable {
    var scope: Scope
    /// Whole seconds after which the same request is let through, if nothing else comes.
    var retryAfter: Int
  }

  private let kind: LimiterKind
  private let installLimit: Int
  private let minute: Int64
  private var key: RateLimiter?
  private var installs: [UInt64: RateLimiter] = [:]
  private var sweptAt = Timestamp(milliseconds: 0)

  /// How many installs of a key are looked at in a minute at most; past that they are all forgotten, and begin anew.
  static let installsMax = 20_000

  /// - Parameter minute: how many milliseconds a minute has.
  init(_ kind: LimiterKind, keyLimit: Int, installLimit: Int, minute: Int64 = RateLimiter.minute) {
    self.kind = kind
    self.installLimit = installLimit
    self.minute = minute
    key = RateLimiter(kind, limit: keyLimit, minute: minute)
  }

  /// Whether a request is let through; then its events are counted, and if not, none of them.
  ///
  /// - Parameter total: all events of the request, the rejected ones too.
  mutating func admit(total: Int, _ accepted: [AcceptedEvent], at now: Timestamp) -> Refusal? {
    guard kind != .none else { return nil }
    let keyWait = key?.wait(for: total, at: now) ?? 0
    var installWait: Int64 = 0
    let counts = Self.counts(accepted)
    for (install, events) in counts {
      guard installs[install] != nil || events > installLimit else { continue }
      installWait = max(
        installWait,
        installs[install, default: RateLimiter(kind, limit: installLimit, minute: minute)!].wait(for: events, at: now))
    }
    if keyWait > 0 || installWait > 0 {
      let wait = max(keyWait, installWait)
      return Refusal(scope: keyWait >= installWait ? .key : .install, retryAfter: Int((wait + 999) / 1000))
    }
    key?.take(total, at: now)
    sweep(at: now)
    for (install, events) in counts {
      installs[install, default: RateLimiter(kind, limit: installLimit, minute: minute)!].take(events, at: now)
    }
    return nil
  }

  private static func counts(_ accepted: [AcceptedEvent]) -> [UInt64: Int] {
    var counts: [UInt64: Int] = [:]
    for event in accepted { counts[event.installHash, default: 0] += 1 }
    return counts
  }

  /// Forgets the installs that have been silent for a minute.
  private mutating func sweep(at now: Timestamp) {
    guard now - sweptAt >= .milliseconds(minute) || installs.count >= Self.installsMax || now < sweptAt else { return }
    sweptAt = now
    installs = installs.filter { !$0.value.isIdle(at: now) }
    if installs.count >= Self.installsMax { installs = [:] }
  }
}
