import Clocks
import Dialects
import EventLog
import EventsAPI

/// What a lane knows of its sending: numbers only, and a bounded number of them, whatever waits. It decides, and does nothing.
struct DeliveryState: Sendable {
  /// Failed tries in a row: how far the doubling of the delay has come.
  private(set) var failures = 0
  /// Those of them that were told to wait: 429s.
  private(set) var rateLimited = 0
  private(set) var delay: LaneDelay?
  /// When the delay was set: answers to what was sent before say nothing about it.
  private var delayedAt: ContinuousClock.Instant?
  /// What is to be sent again; the next one is the last.
  var again: [Portion] = []
  var parked = ParkedEvents()
  /// What waits of an upstream whose requests are kept apart; there nothing is parked by itself.
  var requests = ParkedRequests()
  var underWay = UnderWay()
  var poison = PoisonHunt()
  var rateHunt = RateHunt()
  var breaker = RefusalBreaker()
  var concurrency: ConcurrencyControl
  /// A request that fails steps aside as it is: others go on beside it, whatever they are.
  var stepsAside = false
  /// How often the oldest events were sent before a restart, and how many of them; nil: nobody knows.
  private var restored = Tries()
  private(set) var restoredEvents: Int?
  /// What is known of requests that weren't read yet in this life, and of those under way, by their numbers.
  var triedBefore: [Tried] = []
  /// What is under way and was sent before, by its request: as it was before this try.
  var trying: [Int: Portion] = [:]

  init(concurrency: Int = 1, stepsAside: Bool = false) {
    self.concurrency = ConcurrencyControl(most: concurrency)
    self.stepsAside = stepsAside
  }

  /// Takes up what a lane knew before a restart.
  init(
    restored record: UpstreamRecord.LaneRecord, concurrency: Int = 1, stepsAside: Bool = false,
    now: ContinuousClock.Instant, wallNow: Timestamp
  ) {
    self.init(concurrency: concurrency, stepsAside: stepsAside)
    failures = record.failures
    rateLimited = min(record.rateLimited, record.failures)
    restored = Tries(attempts: record.attempts, unanswered: record.unanswered)
    restoredEvents = record.unanswered > 0 ? record.tried : nil
    delay = LaneDelay(restored: record, now: now, wallNow: wallNow)
    delayedAt = now
    breaker = RefusalBreaker(refusals: record.refusals, cause: record.refused)
  }

  /// Whether the lane may be forgotten when nothing of it waits.
  var isFresh: Bool { failures == 0 && delay == nil && holdsNothing && breaker == RefusalBreaker() }

  /// No event of the lane was read and is still to be settled.
  var holdsNothing: Bool {
    again.isEmpty && parked.isEmpty && requests.isEmpty && !poison.isActive && underWay.requests == 0
  }

  /// Events that were read and are still to be settled.
  var held: Int {
    again.reduce(parked.count + requests.count + underWay.events + poison.events) { $0 + $1.events.count }
  }

  /// No more may be read before something of what waits is gone.
  var isParkingFull: Bool { parked.isFull || requests.isFull }

  var parkedRuns: Int { parked.runs + requests.runs }

  /// What may be parked, in runs.
  mutating func limitParking(to runs: Int) {
    parked.runsMax = runs
    requests.runsMax = runs
  }

  /// A request with events of an install has been answered, or is gone.
  mutating func answered(install: UInt64) {
    parked.answered(install)
    requests.answered(install)
  }

  /// How many requests may be under way. What is sent again, and whatever finds something out, goes alone.
  var requestsMax: Int {
    failures > 0 || !again.isEmpty || findsPoison || rateHunt.isActive || breaker.refusals > 0 ? 1 : concurrency.limit
  }

  /// Where others go on beside a suspect, nothing is to be found out once something has passed it.
  private var findsPoison: Bool { poison.isActive && !(stepsAside && poison.hasPassed) }

  /// What is next.
  ///
  /// | first that holds | next |
  /// |---|---|
  /// | nothing waits | nothing |
  /// | its app has no key, or its events are for another upstream | hold |
  /// | a delay runs | wait for its end |
  /// | as many requests are under way as may be, or one that isn't known by its installs | wait for an answer |
  /// | a suspect is due | send it alone |
  /// | something is to be sent again | send that |
  /// | an install that was parked may go on | send |
  /// | nothing more may be read | wait for the next install that is over its limit, or an answer |
  /// | another try; enough for a batch; the linger is over or skipped | send |
  /// | full by its bytes, perhaps, and nothing else is on its way | read, and send if so |
  /// | otherwise | wait for the linger's end |
  mutating func decide(_ facts: LaneFacts, _ limits: BatchLimits) -> LaneDecision {
    guard facts.pendingEvents > 0 else { return underWay.requests == 0 ? .nothing : .waitForAnswer }
    if facts.isHeld { return .hold }
    if let delay, facts.now < delay.until { return .wait(until: delay.until) }
    if underWay.requests >= requestsMax || underWay.hasUnknown { return .waitForAnswer }
    let unread = facts.pendingEvents - held
    poison.release(at: facts.now)
    let isParkedReady = parked.isReady(at: facts.now) || requests.isReady
    if poison.isDue(hasOthers: !again.isEmpty || isParkedReady || unread > 0) { return .send(.suspect) }
    if !again.isEmpty { return .send(.again) }
    if isParkedReady { return .send(.onward) }
    guard unread > 0, !isParkingFull else {
      if let due = nextDue { return .wait(until: due) }
      // (Nothing under way and nobody's turn to come: the counts are wrong, the log having dropped events meanwhile.)
      return underWay.requests > 0 ? .waitForAnswer : .readAnew
    }
    return decideOnward(unread, facts, limits)
  }

  private func decideOnward(_ unread: Int, _ facts: LaneFacts, _ limits: BatchLimits) -> LaneDecision {
    let isFull = unread >= limits.goesWith || facts.skipsLinger || facts.now >= facts.lingerUntil
    if restored.attempts > 0 || failures > 0 || isFull { return .send(.onward) }
    if unread >= facts.fullFrom, holdsNothing { return .sendIfFull }
    return .wait(until: min(facts.lingerUntil, nextDue ?? facts.lingerUntil))
  }

  /// When the next of what waits for its install's limit may go; nil when nothing waits for a moment.
  var nextDue: ContinuousClock.Instant? { [parked.nextDue, poison.nextDue].compactMap(\.self).min() }

  /// How often events that are read now were sent before: once after a restart it is more than never.
  mutating func takeRestoredTries() -> Tries {
    defer { forgetRestored() }
    return restored
  }

  /// How often an event was sent, as far as that is known.
  func attempts(of event: StoredEvent) -> Int {
    let number = event.sequence
    if let portion = again.first(where: { $0.events.holds(number) }) ?? poison.portion(holding: number) {
      return portion.attempts
    }
    if let request = requests.all.first(where: { $0.events.holds(number) }) { return request.tries.attempts }
    return parked.tries(event.index.installHash, number)?.attempts ?? 0
  }

  /// The upstream has answered for a request, and not with a failure.
  ///
  /// - Parameter began: when the request was sent. The delay stays when it was set since then.
  mutating func answered(_ began: ContinuousClock.Instant) {
    guard isNews(began) else { return }
    forgetFailures()
  }

  private mutating func forgetFailures() {
    failures = 0
    rateLimited = 0
    delay = nil
    delayedAt = nil
  }

  /// Whether a request was sent after the last failure: if not, its own failure is the same one.
  func isNews(_ began: ContinuousClock.Instant) -> Bool { delayedAt.map { began >= $0 } ?? true }

  /// The try failed: counts it, and says how long to wait before the next.
  ///
  /// - Parameters:
  ///   - protocol: says how long, by how many tries have failed.
  ///   - delays: the configured ones.
  ///   - roll: a random number from 0 up to 1.
  mutating func failed(
    _ protocol: any OutgoingDialect, _ delays: RetryDelays, retryAfter: RetryAfter?, isRateLimited: Bool, roll: Double
  ) -> Duration {
    failures = min(failures + 1, Self.failuresMax)
    if isRateLimited { rateLimited = min(rateLimited + 1, failures) }
    concurrency.failed()
    return `protocol`.wait(after: tries(retryAfter, isRateLimited, roll), delays)
  }

  /// The tries that have failed in a row.
  func tries(_ asked: RetryAfter?, _ isRateLimited: Bool, _ roll: Double) -> FailedTries {
    FailedTries(
      count: max(1, failures), rateLimited: rateLimited, isRateLimited: isRateLimited, asked: asked, roll: roll)
  }

  private static let failuresMax = 1_000_000

  mutating func wait(_ delay: LaneDelay, from now: ContinuousClock.Instant) {
    self.delay = delay
    delayedAt = now
  }

  /// There is another key: what the old one was refused for is over.
  mutating func closeBreaker() {
    breaker.close()
    forgetFailures()
  }

  /// Nothing of the lane waits: there is nothing to try again. Refusals in a row are counted on.
  mutating func rest() {
    forgetHeld()
    forgetFailures()
    forgetRestored()
    triedBefore = []
  }

  mutating func forgetRestored() {
    restored = Tries()
    restoredEvents = nil
  }

  /// What was read and not settled is read again: forgets all of it.
  mutating func forgetHeld() {
    again = []
    parked.removeAll()
    requests.removeAll()
    poison = PoisonHunt()
    rateHunt = RateHunt()
  }

  /// What must survive a restart; nil when nothing has to.
  func record(of lane: Lane, app: String) -> UpstreamRecord.LaneRecord? {
    guard let delay else { return nil }
    // (While a request is tried again its tries stand with what is under way, and nowhere else.)
    let oldest = again.last ?? trying.values.min { ($0.events.first ?? 0) < ($1.events.first ?? 0) }
    let tries = oldest?.tries ?? restored
    return UpstreamRecord.LaneRecord(
      app: app, isReplayed: lane.isReplayed, isAsked: delay.isAsked, retryAt: delay.retryAt, wait: delay.length,
      failures: failures, rateLimited: rateLimited, attempts: tries.attempts,
      unanswered: tries.unanswered, tried: oldest?.events.count ?? restoredEvents,
      state: delay.state, detail: delay.detail,
      refusals: breaker.refusals, refused: breaker.cause)
  }
}

/// What a batch may hold.
struct BatchLimits: Sendable, Equatable {
  var events: Int
  /// Bytes of a request's body.
  var bytes: Int
  /// With so many waiting, it goes.
  var goesWith: Int

  /// - Parameter goesWith: nil: a full one goes.
  init(events: Int, bytes: Int, goesWith: Int? = nil) {
    self.events = events
    self.bytes = bytes
    self.goesWith = min(goesWith ?? events, events)
  }
}
