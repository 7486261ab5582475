import Clocks
import EventsAPI

/// What the upstream knows, and how it judges requests by it. Pure: nothing is stored here but what judging needs.
struct Account: Sendable {
  /// What becomes of a batch that was read. Nothing is changed by it until it is committed.
  struct Decision {
    /// Positions among the accepted events of those to be stored.
    var stored: [Int] = []
    /// Events that were stored before, or earlier in the same batch.
    var duplicates = 0
    var rejected: [Rejection] = []
    var clamped: [ClampedEvent] = []
    fileprivate var newNames: Set<String> = []
  }

  enum Refusal: Error, Equatable {
    case rateLimited(RateLimits.Refusal)
    case quotaExceeded
    case tooManyKeys
  }

  private struct EventKey: Hashable, Sendable {
    var app: Int
    var high, low: UInt64
  }

  private struct InstallKey: Hashable, Sendable {
    var app: Int
    var hash: UInt64
  }

  private struct App: Sendable {
    var name: String
    var names: Set<String> = []
    var limits: RateLimits
    var stored = 0
  }

  private let configuration: StandInConfiguration
  private var apps: [App] = []
  private var indexes: [String: Int] = [:]
  private var ids: GenerationalSet<EventKey>
  private var links: GenerationalSet<InstallKey>
  private(set) var quota: MonthlyQuota

  init(_ configuration: StandInConfiguration) {
    self.configuration = configuration
    ids = GenerationalSet(max: configuration.rememberedMax)
    links = GenerationalSet(max: configuration.rememberedMax)
    quota = MonthlyQuota(limit: configuration.monthlyQuota)
  }

  /// The place of an app, which is made when it is new; nil when there are too many.
  mutating func app(_ name: String) -> Int? {
    if let index = indexes[name] { return index }
    guard apps.count < StandInConfiguration.keysMax else { return nil }
    let limits = RateLimits(
      configuration.limiter, keyLimit: configuration.keyEventsPerMinute,
      installLimit: configuration.installEventsPerMinute, minute: configuration.minute.milliseconds)
    apps.append(App(name: name, limits: limits))
    indexes[name] = apps.count - 1
    return apps.count - 1
  }

  func name(of app: Int) -> String { apps[app].name }

  // MARK: Judging

  /// Judges the batch that a reader has read.
  mutating func judge(_ reader: EventsReader, of body: UnsafeRawBufferPointer, app: Int, at now: Timestamp)
    -> Result<Decision, Refusal>
  {
    let total = reader.accepted.count + reader.rejected.count
    if let refusal = apps[app].limits.admit(total: total, reader.accepted, at: now) {
      return .failure(.rateLimited(refusal))
    }
    var decision = Decision()
    var batch: Set<EventKey> = []
    var overNames: [Rejection] = []
    for (position, event) in reader.accepted.enumerated() {
      let key = EventKey(app: app, high: event.idHigh, low: event.idLow)
      if ids.contains(key) || batch.contains(key) {
        decision.duplicates += 1
        continue
      }
      let name = event.name(in: body)
      if !apps[app].names.contains(name), !decision.newNames.contains(name) {
        guard apps[app].names.count + decision.newNames.count < EventsLimits.eventNamesMax else {
          overNames.append(Self.overNames(event))
          continue
        }
        decision.newNames.insert(name)
      }
      batch.insert(key)
      decision.stored.append(position)
    }
    guard quota.allows(decision.stored.count, at: now) else { return .failure(.quotaExceeded) }
    decision.rejected = reader.rejected
    decision.clamped = reader.clamped
    if !overNames.isEmpty {
      let over = Set(overNames.map(\.index))
      decision.rejected = (reader.rejected + overNames).sorted { $0.index < $1.index }
      decision.clamped.removeAll { over.contains($0.index) }
    }
    return .success(decision)
  }

  private static func overNames(_ event: AcceptedEvent) -> Rejection {
    Rejection(
      index: event.index, eventID: event.eventID, code: .tooManyEventNames,
      message: "The app has \(EventsLimits.eventNamesMax) event names already, and this would be a new one.")
  }

  /// Remembers what was decided, the events having been stored.
  mutating func commit(_ decision: Decision, _ accepted: [AcceptedEvent], app: Int, at now: Timestamp) {
    for position in decision.stored {
      ids.insert(EventKey(app: app, high: accepted[position].idHigh, low: accepted[position].idLow))
    }
    apps[app].names.formUnion(decision.newNames)
    apps[app].stored += decision.stored.count
    quota.count(decision.stored.count, at: now)
  }

  /// Whether an identify call is its install's first.
  func isFirstLink(_ call: AcceptedEvent, app: Int) -> Bool {
    !links.contains(InstallKey(app: app, hash: call.installHash))
  }

  mutating func commitLink(_ call: AcceptedEvent, app: Int) {
    links.insert(InstallKey(app: app, hash: call.installHash))
  }

  // MARK: Starting again

  /// Takes in an event that was stored in an earlier life.
  mutating func recall(_ event: AcceptedEvent, name: String, app: Int, storedAt: Timestamp, now: Timestamp) {
    let key = EventKey(app: app, high: event.idHigh, low: event.idLow)
    if !ids.contains(key) { ids.insert(key) }
    if apps[app].names.count < EventsLimits.eventNamesMax { apps[app].names.insert(name) }
    apps[app].stored += 1
    quota.recount(1, storedAt: storedAt, now: now)
  }

  mutating func recallLink(_ call: AcceptedEvent, app: Int) {
    if isFirstLink(call, app: app) { commitLink(call, app: app) }
  }

  // MARK: Showing

  var summary: [(name: String, stored: Int, names: Int)] {
    apps.map { ($0.name, $0.stored, $0.names.count) }
  }
}
