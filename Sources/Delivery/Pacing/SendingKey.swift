import Apps
import Clocks

/// What is known of one upstream key: its budgets, and the lanes that wait for them. Shared by all lanes that send with it.
///
/// Belongs to the engine's thread.
final class SendingKey {
  let key: String
  /// What stands for the key on record.
  var id: String
  /// The app whose own upstream it is for; nil: the usual one.
  var owner: String?
  /// Nil without a limit.
  var budget: KeyBudget?
  /// Nil without a limit, until an install is found that the upstream limits.
  var installs: InstallBudgets?
  /// A wait that the upstream asked for: it holds for whatever is sent with the key.
  var asked: LaneDelay?
  /// The upstream refuses the key: nobody sends with it but one that asks now and then.
  var pause: KeyPause?
  /// Who waits for the budget.
  var waiters: [DeliveryLane] = []
  /// Events of requests without an answer, or requests, as the limit counts.
  private(set) var underWay = 0
  /// Somebody is about to send: the next record leases events to the key.
  var wantsLease = false
  /// When the first of them is looked at again; nil: after an answer.
  var timer: ContinuousClock.Instant?
  /// From then on less than is wanted goes too; nil: nobody waits for that.
  var partFrom: ContinuousClock.Instant?
  /// When the last request went out.
  var sentAt: ContinuousClock.Instant?
  private(set) var limit: RateLimit
  private var window: Duration { limit.window }
  /// Until then what was sent counts with the upstream, whether it is counted here or not.
  private var countsUntil: ContinuousClock.Instant?

  init(_ key: String, id: String? = nil, limit: RateLimit) {
    self.key = key
    self.id = id ?? KeyFingerprint.of(key)
    self.limit = limit
    budget = limit.keyMax.map { KeyBudget(most: $0, window: limit.window) }
    installs = limit.installMax.map { InstallBudgets(most: $0, window: limit.window) }
  }

  /// Takes up what the last life had used.
  init(
    _ key: String, limit: RateLimit, record: UpstreamRecord.KeyRecord, until end: ContinuousClock.Instant,
    isUnclean: Bool
  ) {
    self.key = key
    id = record.key
    self.limit = limit
    budget = limit.keyMax.map { KeyBudget(most: $0, window: limit.window, usedBefore: record.used, until: end) }
    installs = limit.installMax.map {
      InstallBudgets(
        most: $0, window: limit.window, used: record.installs,
        // (Of an install that isn't on record, up to half of its limit was sent.)
        isUnclean: isUnclean || record.used > 0 || limit.keyMax == nil, until: end)
    }
  }

  /// What has to be on record; nil when nothing counts.
  ///
  /// - Parameter isLast: nothing more is sent; else a lease is on record too.
  func record(at now: ContinuousClock.Instant, isLast: Bool) -> UpstreamRecord.KeyRecord? {
    let leases = !isLast && (wantsLease || budget?.needsRecord(at: now) == true)
    wantsLease = false
    let used = (leases ? budget?.lease(at: now) : isLast ? budget?.close(at: now) : budget?.lapse()) ?? 0
    let installs = installs?.onRecord(at: now) ?? []
    return used > 0 || !installs.isEmpty ? UpstreamRecord.KeyRecord(key: id, used: used, installs: installs) : nil
  }

  /// More was taken than is on record.
  func isLeaseOverdrawn(at now: ContinuousClock.Instant) -> Bool { budget?.isOnRecord(0, at: now) == false }

  /// Another limit holds from now on. What was sent before counts on.
  ///
  /// Where nobody counted, the key's limit is taken for used up for one window, an install's for half used.
  func change(to limit: RateLimit, at now: ContinuousClock.Instant) {
    let end = now + limit.window
    self.limit = limit
    if let most = limit.keyMax {
      if budget == nil {
        budget = KeyBudget(most: most, window: limit.window, usedBefore: most, until: end)
        budget?.take(underWay)
      } else {
        budget?.change(most: most)
      }
    } else {
      budget = nil
    }
    if let most = limit.installMax {
      if installs == nil {
        installs = InstallBudgets(most: most, window: limit.window, used: [], isUnclean: true, until: end)
      } else {
        installs?.change(most: most)
      }
    } else {
      installs = nil
    }
  }

  /// A request goes out.
  func take(_ events: Int) {
    underWay += events
    budget?.take(events)
  }

  /// The budgets that requests under way have taken from come back, one way or the other.
  func settle(_ events: Int, _ installs: [UInt64: Int]?, isCounted: Bool, at now: ContinuousClock.Instant) {
    underWay -= events
    if isCounted { countsUntil = now + window }
    if isCounted { budget?.settle(events, at: now) } else { budget?.giveBack(events) }
    guard let installs else { return }
    for (install, events) in installs {
      if isCounted {
        self.installs?.settle(install, events, at: now)
      } else {
        self.installs?.giveBack(install, events)
      }
    }
  }

  /// Whether the key may be forgotten: one that is used later, or gets a limit, begins with all of it.
  func isIdle(at now: ContinuousClock.Instant) -> Bool {
    waiters.isEmpty && underWay == 0 && countsUntil.map { $0 <= now } ?? true && budget?.isIdle(at: now) ?? true
      && installs?.isIdle(at: now) ?? true
      && asked.map { $0.until <= now } ?? true && pause.map { $0.isForgotten(at: now) } ?? true
  }
}
