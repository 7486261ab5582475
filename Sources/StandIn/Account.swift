import Clocks
import Dialects
import EventLog
import EventsAPI

/// What the upstream knows, and how it judges requests by it. Pure: nothing is stored here but what judging needs.
struct Account: Sendable {
  /// What becomes of a request that was read. Nothing is changed by it until it is committed.
  struct Decision {
    /// Positions among the accepted events of those to be stored.
    var stored: [Int] = []
    /// Positions of those that are rejected, since the app has too many names.
    var overNames: [Int] = []
    /// Events that were stored before, or earlier in the same request.
    var duplicates = 0
    fileprivate var newNames: Set<String> = []
  }

  enum Refusal: Error, Equatable {
    case rateLimited(RateLimits.Refusal)
    case quotaExceeded
  }

  private struct EventKey: Hashable, Sendable {
    var app: Int
    var high, low: UInt64
  }

  private struct InstallKey: Hashable, Sendable {
    var app: Int
    var hash: UInt64
  }

  private struct AppKey: Hashable, Sendable {
    var dialect: UInt8
    var name: String
  }

  private struct App: Sendable {
    var name: String
    var dialect: any Dialect
    var serving: ServingHabits
    var names: Set<String> = []
    var limits: RateLimits
    var stored = 0
  }

  private let configuration: StandInConfiguration
  private var apps: [App] = []
  private var indexes: [AppKey: Int] = [:]
  private var ids: GenerationalSet<EventKey>
  private var links: GenerationalSet<InstallKey>
  private(set) var quota: MonthlyQuota

  init(_ configuration: StandInConfiguration) {
    self.configuration = configuration
    ids = GenerationalSet(max: configuration.rememberedMax)
    links = GenerationalSet(max: configuration.rememberedMax)
    quota = MonthlyQuota(limit: configuration.monthlyQuota)
  }

  /// The place of an app, which is made when it is new; nil when there are too many. What a key sends by one protocol has
  /// nothing to do with what it sends by another.
  mutating func app(_ name: String, _ dialect: any Dialect) -> Int? {
    let key = AppKey(dialect: dialect.number, name: name)
    if let index = indexes[key] { return index }
    guard apps.count < StandInConfiguration.keysMax else { return nil }
    apps.append(App(name: name, dialect: dialect, serving: dialect.incoming.serving, limits: limits(of: dialect)))
    indexes[key] = apps.count - 1
    return apps.count - 1
  }

  private func limits(of dialect: any Dialect) -> RateLimits {
    let (defaults, unit) = (dialect.outgoing.defaults, dialect.outgoing.habits.limitUnit)
    let asked = unit == .requests ? configuration.keyRequestsPerMinute : configuration.keyEventsPerMinute
    // (A limit that a protocol doesn't have isn't given to it.)
    return RateLimits(
      configuration.limiter, keyLimit: defaults.perMinute > 0 ? asked ?? defaults.perMinute : 0, unit: unit,
      installLimit: defaults.perInstallPerMinute > 0
        ? configuration.installEventsPerMinute ?? defaults.perInstallPerMinute : 0,
      minute: configuration.minute.milliseconds)
  }

  func name(of app: Int) -> String { apps[app].name }

  // MARK: Judging

  /// Judges the request that a reader has read.
  mutating func judge(_ reader: any IncomingReader, app: Int, at now: Timestamp) -> Result<Decision, Refusal> {
    let accepted = reader.accepted
    if reader.kind == .event {
      let total = accepted.count + reader.rejectedCodes.count
      if let refusal = apps[app].limits.admit(total: total, accepted, at: now) {
        return .failure(.rateLimited(refusal))
      }
    }
    var decision = Decision()
    var batch: Set<EventKey> = []
    for (position, event) in accepted.enumerated() {
      guard reader.kind == .event else {
        if isFirstLink(event, app: app) { decision.stored.append(position) }
        continue
      }
      let key = EventKey(app: app, high: event.idHigh, low: event.idLow)
      if ids.contains(key) || batch.contains(key) {
        decision.duplicates += 1
      } else if !takesName(of: event, in: reader.storedBody, app: app, &decision) {
        decision.overNames.append(position)
      } else {
        batch.insert(key)
        decision.stored.append(position)
      }
    }
    let isCounted = reader.kind == .event && apps[app].serving.hasQuota
    guard !isCounted || quota.allows(decision.stored.count, at: now) else { return .failure(.quotaExceeded) }
    return .success(decision)
  }

  /// Whether the app may have the event's name: one that it has, or one more.
  private func takesName(
    of event: AcceptedEvent, in body: UnsafeRawBufferPointer, app: Int, _ decision: inout Decision
  ) -> Bool {
    guard let max = apps[app].serving.namesMax else { return true }
    let name = event.name(in: body)
    if apps[app].names.contains(name) || decision.newNames.contains(name) { return true }
    guard apps[app].names.count + decision.newNames.count < max else { return false }
    decision.newNames.insert(name)
    return true
  }

  /// Remembers what was decided, the events having been stored.
  mutating func commit(_ decision: Decision, _ reader: any IncomingReader, app: Int, at now: Timestamp) {
    let accepted = reader.accepted
    guard reader.kind == .event else {
      for position in decision.stored { commitLink(accepted[position], app: app) }
      return
    }
    for position in decision.stored {
      ids.insert(EventKey(app: app, high: accepted[position].idHigh, low: accepted[position].idLow))
    }
    apps[app].names.formUnion(decision.newNames)
    apps[app].stored += decision.stored.count
    if apps[app].serving.hasQuota { quota.count(decision.stored.count, at: now) }
  }

  /// Whether an identify call is its install's first.
  private func isFirstLink(_ call: AcceptedEvent, app: Int) -> Bool {
    !links.contains(InstallKey(app: app, hash: call.installHash))
  }

  private mutating func commitLink(_ call: AcceptedEvent, app: Int) {
    links.insert(InstallKey(app: app, hash: call.installHash))
  }

  // MARK: Starting again

  /// Takes in what was stored in an earlier life.
  mutating func recall(
    _ event: AcceptedEvent, _ kind: EventKind, in body: UnsafeRawBufferPointer, app: Int, storedAt: Timestamp,
    now: Timestamp
  ) {
    guard kind == .event else {
      if isFirstLink(event, app: app) { commitLink(event, app: app) }
      return
    }
    let key = EventKey(app: app, high: event.idHigh, low: event.idLow)
    if !ids.contains(key) { ids.insert(key) }
    if let max = apps[app].serving.namesMax, apps[app].names.count < max {
      apps[app].names.insert(event.name(in: body))
    }
    apps[app].stored += 1
    if apps[app].serving.hasQuota { quota.recount(1, storedAt: storedAt, now: now) }
  }

  // MARK: Showing

  var summary: [(name: String, protocolName: String, stored: Int, names: Int)] {
    apps.map { ($0.name, $0.dialect.name, $0.stored, $0.names.count) }
  }
}
