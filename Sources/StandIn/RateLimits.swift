import Clocks
import Dialects
import EventsAPI

/// The two limits that a protocol may have for one key: its own, of events or requests, and its installs', of events.
struct RateLimits: Sendable {
  enum Scope: String, Sendable, CaseIterable { case key, install }

  struct Refusal: Sendable, Equatable {
    var scope: Scope
    /// Whole seconds after which the same request is let through, if nothing else comes.
    var retryAfter: Int
  }

  private let kind: LimiterKind
  private let unit: OutgoingHabits.LimitUnit
  private let installLimit: Int
  private let minute: Int64
  private var key: RateLimiter?
  private var installs: [UInt64: RateLimiter] = [:]
  private var sweptAt = Timestamp(milliseconds: 0)

  /// How many installs of a key are looked at in a minute at most; past that they are all forgotten, and begin anew.
  static let installsMax = 20_000

  /// - Parameters:
  ///   - keyLimit: 0: none. So for `installLimit`.
  ///   - unit: what `keyLimit` counts.
  ///   - minute: how many milliseconds a minute has.
  init(
    _ kind: LimiterKind, keyLimit: Int, unit: OutgoingHabits.LimitUnit = .events, installLimit: Int,
    minute: Int64 = RateLimiter.minute
  ) {
    self.kind = kind
    self.unit = unit
    self.installLimit = installLimit
    self.minute = minute
    key = keyLimit > 0 ? RateLimiter(kind, limit: keyLimit, minute: minute) : nil
  }

  /// Whether a request is let through; then its events are counted, and if not, none of them.
  ///
  /// - Parameter total: all events of the request, the rejected ones too.
  mutating func admit(total: Int, _ accepted: [AcceptedEvent], at now: Timestamp) -> Refusal? {
    guard kind != .none else { return nil }
    let taken = unit == .requests ? 1 : total
    let keyWait = key?.wait(for: taken, at: now) ?? 0
    var installWait: Int64 = 0
    let counts = installLimit > 0 ? Self.counts(accepted) : [:]
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
    key?.take(taken, at: now)
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
