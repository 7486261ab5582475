import Clocks
import EventLog

/// Picks the events of the next request from what is read, and parks those whose install may not go now.
///
/// An event is picked unless
/// - an earlier one of its install is parked,
/// - an event of its install is under way, or has stepped aside,
/// - its install has used up its limit.
struct BatchPicker {
  enum Pick: Equatable {
    case taken
    case parked
    /// It has grown too old, and its user doesn't want it sent any more.
    case expired
  }

  let now: ContinuousClock.Instant
  /// Events dated before are not sent; nil: all are.
  let expiredBefore: Timestamp?
  /// The protocol that this is a rule of: events of another don't go, and are none of its business.
  let dialect: UInt8
  /// Whether the installs of what is picked are counted.
  let countsInstalls: Bool
  /// Installs that wait for an event which has stepped aside.
  let aside: Set<UInt64>
  private(set) var events = EventRanges()
  private(set) var installs: [UInt64: Int] = [:]
  /// Events that couldn't go because of others under way.
  private(set) var conflicts = 0
  /// What became of the event before, in the lane's order.
  private var last: (pick: Pick, install: UInt64)?

  init(
    now: ContinuousClock.Instant, expiredBefore: Timestamp?, dialect: UInt8 = 0, countsInstalls: Bool,
    aside: Set<UInt64> = []
  ) {
    self.aside = aside
    self.dialect = dialect
    self.now = now
    self.expiredBefore = expiredBefore
    self.countsInstalls = countsInstalls
  }

  var count: Int { events.count }

  /// Something read can't go because of what is before it.
  mutating func noteConflict() { conflicts += 1 }

  /// What follows isn't next to what was picked last.
  mutating func breakOff() { last = nil }

  mutating func pick(
    _ event: StoredEvent, _ parked: inout ParkedEvents, _ underWay: UnderWay, _ budgets: inout InstallBudgets?
  ) -> Pick {
    let pick = judge(event, &parked, underWay, &budgets)
    last = (pick, event.index.installHash)
    return pick
  }

  private mutating func judge(
    _ event: StoredEvent, _ parked: inout ParkedEvents, _ underWay: UnderWay, _ budgets: inout InstallBudgets?
  ) -> Pick {
    let install = event.index.installHash
    if isExpired(event) { return .expired }
    let follows = last.map { $0.pick == .parked && $0.install == install } ?? false
    if parked.isBlocked(install, event.sequence) {
      parked.park(install, event.sequence, follows: follows, room: .afterAnswers)
      return .parked
    }
    if isAside(install) {
      parked.park(install, event.sequence, follows: follows, room: .afterAnswers)
      return .parked
    }
    if underWay.holds(install) {
      conflicts += 1
      parked.park(install, event.sequence, follows: follows, room: .afterAnswers)
      return .parked
    }
    if budgets != nil {
      guard budgets!.available(install, at: now) > 0 else {
        parked.park(install, event.sequence, follows: follows, room: budgets!.roomOrLook(install, at: now))
        return .parked
      }
      budgets!.take(install, 1)
    }
    take(event)
    return .taken
  }

  /// Takes an event that was parked and may go.
  mutating func take(_ event: StoredEvent, follows: Bool) {
    last = follows ? (.taken, event.index.installHash) : nil
    take(event)
    last = (.taken, event.index.installHash)
  }

  private mutating func take(_ event: StoredEvent) {
    events.append(event.sequence, follows: last?.pick == .taken)
    if countsInstalls { installs[event.index.installHash, default: 0] += 1 }
  }

  /// Whether nothing about an event by itself can keep it from being taken.
  var takesAll: Bool { expiredBefore == nil && !countsInstalls }

  /// Takes events without looking at each.
  mutating func takeAll(_ stored: [StoredEvent], follows: (UInt64) -> Bool) {
    for event in stored { events.append(event.sequence, follows: follows(event.sequence)) }
  }

  /// Whether nothing of an install may go but what has stepped aside.
  func isAside(_ install: UInt64) -> Bool { !aside.isEmpty && aside.contains(install) }

  func isExpired(_ event: StoredEvent) -> Bool {
    guard let expiredBefore, event.dialect == dialect else { return false }
    return event.index.date(receivedAt: event.receivedAt) < expiredBefore
  }
}
