/// How many events of one key may go upstream now. Shared by all lanes that send with the key. (Where the upstream counts requests,
/// read requests for events.)
///
/// What was sent must be known after a crash too. So from half of the limit on, the record on disk is ahead of what is
/// sent: it counts a *lease* of events as sent before they are, and whoever would send more than that writes it anew
/// first. A key that isn't on record has half of its limit for one window after a crash: what has little to send costs no
/// record.
struct KeyBudget: Sendable {
  private(set) var count: SlidingCount
  private(set) var limit: LearntLimit
  /// Events that may still be sent before the record is written anew; negative: more was sent than is on record.
  private(set) var leased = 0

  /// So many parts of the limit a lease is.
  static let leaseShare = 10

  init(most: Int, window: Duration = .seconds(60)) {
    count = SlidingCount(window: window, parts: 240)
    limit = LearntLimit(most: most, window: window)
  }

  /// Takes up what the last life may have sent: all of it counts for one more window.
  init(most: Int, window: Duration = .seconds(60), usedBefore: Int, until end: ContinuousClock.Instant) {
    self.init(most: most, window: window)
    count.add(usedBefore, until: end)
  }

  /// Another limit holds; what was learnt of the last one is forgotten.
  mutating func change(most: Int) { limit = LearntLimit(most: most, window: limit.window) }

  var leaseLength: Int { max(1, limit.most / Self.leaseShare) }

  /// Nothing counts, and nothing has been learnt that holds.
  func isIdle(at now: ContinuousClock.Instant) -> Bool { count.isIdle(at: now) && limit.limit(at: now) == limit.most }

  /// Events that count now.
  mutating func used(at now: ContinuousClock.Instant) -> Int { count.used(at: now) }

  /// Events that may go now.
  mutating func available(at now: ContinuousClock.Instant) -> Int {
    max(0, limit.limit(at: now) - count.used(at: now))
  }

  /// When so many may go; of more than the whole limit, when that may.
  mutating func room(for events: Int, at now: ContinuousClock.Instant) -> SlidingCount.Room {
    let limit = limit.limit(at: now)
    return count.room(for: min(events, limit), limit: limit, at: now)
  }

  /// Whether the record has to tell of the key.
  mutating func needsRecord(adding events: Int = 0, at now: ContinuousClock.Instant) -> Bool {
    count.used(at: now) + events > limit.most / 2
  }

  /// Whether so many may go without the record being written first.
  mutating func isOnRecord(_ events: Int, at now: ContinuousClock.Instant) -> Bool {
    events <= leased || !needsRecord(adding: events, at: now)
  }

  /// What the record has to say: events that count, or may until it is written again. Leases them.
  mutating func lease(at now: ContinuousClock.Instant) -> Int {
    leased = leaseLength
    return count.used(at: now) + leased
  }

  /// The record says nothing of the key.
  mutating func lapse() -> Int {
    leased = 0
    return 0
  }

  /// What the record has to say when no more is sent.
  mutating func close(at now: ContinuousClock.Instant) -> Int {
    leased = 0
    return count.used(at: now)
  }

  mutating func take(_ events: Int) {
    count.take(events)
    leased -= events
  }

  mutating func settle(_ events: Int, at now: ContinuousClock.Instant) { count.settle(events, at: now) }

  mutating func giveBack(_ events: Int) { count.giveBack(events) }

  mutating func refused(used: Int, at now: ContinuousClock.Instant) { limit.refused(used: used, at: now) }
}
