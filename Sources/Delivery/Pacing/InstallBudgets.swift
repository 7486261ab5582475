/// How many events of each install may go upstream now, for one key.
///
/// Keeps the installs used last, at least half of ``installsMax``. One beyond is forgotten and begins anew: at worst the upstream
/// refuses a request for it, and the install is found by halving.
///
/// After a crash nobody knows what each install has sent in the last minute. So an install comes on record before it uses
/// more than half of its limit, and after a restart counts as having used all of it; for the others, half of the limit holds
/// for one window.
struct InstallBudgets: Sendable {
  private struct Install: Sendable {
    var count: SlidingCount
    /// Nothing goes before.
    var blockedUntil: ContinuousClock.Instant?
    /// Refusals since the upstream last took something of it.
    var refusals = 0
    /// What the upstream seems to allow for it, for ``learntFor`` windows after the block; nil: the limit.
    var most: Int?
    /// It is on record as having used its limit up.
    var isOnRecord = false
    /// What the last life sent of it is counted.
    var isTakenUp = false
  }

  static let installsMax = 50_000
  /// For so many windows an install's own limit is remembered.
  static let learntFor = 10

  private(set) var most: Int
  let window: Duration
  private let installsMax: Int
  private var young: [UInt64: Install] = [:]
  private var old: [UInt64: Install] = [:]
  /// Until then half of the limit holds for installs that weren't on record.
  private var halfUntil: ContinuousClock.Instant?
  /// Until then something of what is known here counts.
  private var countsUntil: ContinuousClock.Instant?

  init(most: Int, window: Duration = .seconds(60), installsMax: Int = Self.installsMax) {
    self.most = most
    self.window = window
    self.installsMax = installsMax
  }

  /// Takes up what is on record of the last life.
  init(
    most: Int, window: Duration = .seconds(60), used: [UInt64], isUnclean: Bool, until end: ContinuousClock.Instant,
    installsMax: Int = Self.installsMax
  ) {
    self.init(most: most, window: window, installsMax: installsMax)
    for install in used {
      var entry = Install(count: SlidingCount(window: window, parts: Self.parts), isOnRecord: true, isTakenUp: true)
      entry.count.add(most, until: end)
      young[install] = entry
    }
    halfUntil = isUnclean || !used.isEmpty ? end : nil
    countsUntil = end + window / Self.parts
  }

  /// Another limit holds for all of them.
  mutating func change(most: Int) { self.most = most }

  private static let parts = 20

  /// How many installs are known; for tests.
  var count: Int { young.count + old.count }

  /// Nothing of it counts any more, but for requests under way.
  func isIdle(at now: ContinuousClock.Instant) -> Bool { countsUntil.map { $0 <= now } ?? true }

  private mutating func note(until moment: ContinuousClock.Instant) {
    countsUntil = max(countsUntil ?? moment, moment)
  }

  private mutating func entry(_ install: UInt64) -> Install? {
    if let entry = young[install] { return entry }
    guard let entry = old.removeValue(forKey: install) else { return nil }
    keep(install, entry)
    return entry
  }

  private mutating func keep(_ install: UInt64, _ entry: Install) {
    if young[install] == nil, young.count >= installsMax / 2 {
      old = young
      young = [:]
    }
    young[install] = entry
  }

  private func limit(_ entry: Install?, at now: ContinuousClock.Instant) -> Int {
    var most = self.most
    if let learnt = entry?.most, let blocked = entry?.blockedUntil, now < blocked + window * Self.learntFor {
      most = min(most, learnt)
    }
    guard let halfUntil, now < halfUntil, entry?.isTakenUp != true else { return most }
    return max(1, most / 2)
  }

  /// Events of the install that may go now.
  mutating func available(_ install: UInt64, at now: ContinuousClock.Instant) -> Int {
    guard var entry = entry(install) else { return limit(nil, at: now) }
    if let blocked = entry.blockedUntil, now < blocked { return 0 }
    defer { young[install] = entry }
    return max(0, limit(entry, at: now) - entry.count.used(at: now))
  }

  /// When at least one event of the install may go.
  mutating func room(_ install: UInt64, at now: ContinuousClock.Instant) -> SlidingCount.Room {
    guard var entry = entry(install) else { return .now }
    defer { young[install] = entry }
    if let blocked = entry.blockedUntil, now < blocked { return .at(blocked) }
    let room = entry.count.room(for: 1, limit: limit(entry, at: now), at: now)
    guard case .at(let moment) = room, let halfUntil, now < halfUntil, halfUntil < moment else { return room }
    return .at(halfUntil)
  }

  /// The same, for those who aren't told when an answer comes: then it is worth looking again soon.
  mutating func roomOrLook(_ install: UInt64, at now: ContinuousClock.Instant) -> SlidingCount.Room {
    let room = room(install, at: now)
    return room == .afterAnswers ? .at(now + window / Self.parts) : room
  }

  /// Whether so many events more may go without the install being on record.
  mutating func isOnRecord(_ install: UInt64, adding events: Int, at now: ContinuousClock.Instant) -> Bool {
    // (While nobody knows what it had sent, half of its limit may be used already.)
    let free = halfUntil.map { now < $0 } ?? false ? 0 : most / 2
    guard var entry = entry(install) else { return events <= free }
    defer { young[install] = entry }
    return entry.isOnRecord || entry.count.used(at: now) + events <= free
  }

  /// The install is to be on record; the record is written next.
  mutating func putOnRecord(_ install: UInt64) {
    var entry = entry(install) ?? Install(count: SlidingCount(window: window, parts: Self.parts))
    entry.isOnRecord = true
    keep(install, entry)
  }

  /// The installs that are on record: those that still are near their limit.
  mutating func onRecord(at now: ContinuousClock.Instant) -> [UInt64] {
    func filter(_ table: inout [UInt64: Install]) -> [UInt64] {
      var found: [UInt64] = []
      for (install, entry) in table where entry.isOnRecord {
        if entry.count.isIdle(at: now), entry.blockedUntil.map({ $0 <= now }) ?? true {
          table[install]?.isOnRecord = false
        } else {
          found.append(install)
        }
      }
      return found
    }
    return (filter(&young) + filter(&old)).sorted()
  }

  mutating func take(_ install: UInt64, _ events: Int) {
    var entry = entry(install) ?? Install(count: SlidingCount(window: window, parts: Self.parts))
    entry.count.take(events)
    keep(install, entry)
  }

  mutating func settle(_ install: UInt64, _ events: Int, at now: ContinuousClock.Instant) {
    guard var entry = entry(install), entry.count.underWay >= events else { return }
    entry.count.settle(events, at: now)
    note(until: now + window + window / Self.parts)
    entry.refusals = 0
    young[install] = entry
  }

  mutating func giveBack(_ install: UInt64, _ events: Int) {
    guard var entry = entry(install), entry.count.underWay >= events else { return }
    entry.count.giveBack(events)
    young[install] = entry
  }

  /// The upstream refuses the install so many events: nothing of it goes for a while, and if that doesn't help, fewer at
  /// once.
  mutating func refused(_ install: UInt64, events: Int, until end: ContinuousClock.Instant) {
    var entry = entry(install) ?? Install(count: SlidingCount(window: window, parts: Self.parts))
    entry.blockedUntil = end
    entry.refusals += 1
    note(until: end + window * Self.learntFor)
    if entry.refusals > 1 { entry.most = max(1, min(entry.most ?? most, events / 2)) }
    keep(install, entry)
  }
}
