import Apps
import Clocks
import Configuration
import DeadLetters
import Dedupe
import Delivery
import EventLog
import EventsAPI
import HTTPClient
import JSON
import Observability
import Sinks
import Synchronization

extension AppRegistry: UpstreamKeys {}

/// Everything events go to: the upstream and the sinks, each with its own subscription. Sinks may come and go.
final class Destinations: Sendable {
  static let upstreamName = "upstream"

  let upstream: UpstreamDestination
  let deadLetters: DeadLetterStore
  let storage: Storage
  let factory: SinkFactory
  let removed: RemovedSinkBook
  let clock: WallClock
  let logger: Logger
  let started = ContinuousClock.now
  let clampGuard: ClampGuard
  private let fixed: Fixed
  private let upstreamSubscription: any Subscription
  private let client: HTTPClientLoop
  private let list: Mutex<[any Destination]>
  /// Held while sinks are made, removed or given up, so that none is put back while its place is given up.
  let changing = Mutex(())

  /// What of the upstream no configuration changes.
  private struct Fixed {
    /// The stand-in's. It has another port at each start, and a data directory of its own: it's still the same upstream.
    var url: String?
    var minute: Duration
  }

  /// - Parameters:
  ///   - standInURL: where the stand-in upstream is when it takes the configured one's place.
  ///   - files: how many connections and files there may be.
  init(
    _ daemon: Daemon, _ storage: Storage, _ intake: Intake, standInURL: String?, files: OpenFileNeeds.Shares
  ) throws {
    let configuration = daemon.configuration
    let url = standInURL ?? configuration.upstream.url
    if daemon.options.adopts {
      try storage.audit.record("adopt", by: "run --adopt", ["upstream": .string(url)])
    }
    let userAgent = "event-relay/\(RelayVersion.current)"
    (self.storage, clock, logger) = (storage, daemon.clock, daemon.logger)
    fixed = Fixed(url: standInURL, minute: try ShortMinute.window(daemon.environment, daemon.logger))
    client = HTTPClientLoop(
      name: "upstream", userAgent: userAgent, logger: daemon.logger, transfersMax: files.transfers)
    deadLetters = DeadLetterStore(
      directory: "\(storage.directory)/dead-letters", limits: DeadLetterLimits(configuration.deadLetters),
      clock: daemon.clock, logger: daemon.logger, system: daemon.surroundings.files)
    upstreamSubscription = try storage.log.subscribe(Self.upstreamName, origin: .oldest)
    clampGuard = ClampGuard(upstreamSubscription, clock: daemon.clock, logger: daemon.logger)
    upstream = UpstreamDestination(
      upstreams: Upstreams(
        configuration, standInURL: standInURL, adopts: daemon.options.adopts || daemon.options.standsIn,
        minute: fixed.minute),
      subscription: upstreamSubscription, client: client, scheduler: client,
      keys: storage.apps, deadLetters: deadLetters, relay: storage.instanceID, metrics: daemon.metrics,
      logger: daemon.logger, clock: daemon.clock, didBury: intake.didBury)
    factory = SinkFactory(
      storage: storage, deadLetters: deadLetters, clock: clock, files: daemon.surroundings.files,
      metrics: daemon.metrics, logger: logger, userAgent: userAgent, lineFiles: OpenFileShare(files.lineFiles))
    removed = try RemovedSinkBook(directory: storage.directory, logger: logger)
    list = Mutex([upstream])
    try clearGivenUp()
    for sink in configuration.sinks {
      let made = try factory.make(sink)
      change { $0.append(made) }
    }
    removed.forget(configuration.sinks.map(\.name))
    try takeUpRemovedSinks(keep: configuration.positions.keep)
    storage.log.destinationsAreThere()
  }

  /// The upstream, the sinks in the order they came, and removed ones whose place is kept.
  var all: [any Destination] { list.withLock { $0 } }

  /// The names of the sinks that are there, removed ones left out.
  var sinks: [String] { all.filter { $0 !== upstream && !($0 is RemovedSink) }.map(\.name) }

  /// Puts others in the place of some, in one step for whoever asks for all.
  func change(_ body: (inout [any Destination]) -> Void) { list.withLock { body(&$0) } }

  func start() {
    client.start()
    for destination in all { destination.start() }
  }

  /// Sends upstream as another configuration says. What waits for another upstream is held, as at a start.
  ///
  /// - Parameter change: what changes along with it, between two requests: the apps and their keys.
  func reconfigureUpstream(
    _ configuration: RelayConfiguration, with change: @escaping @Sendable () -> Void = {}
  ) async {
    await upstream.reconfigure(
      Upstreams(configuration, standInURL: fixed.url, adopts: fixed.url != nil, minute: fixed.minute), with: change)
  }

  /// Whether events of an app wait to go upstream.
  func isOwed(app name: String) -> Bool {
    [Lane.app(name), .replayed(name)].contains { upstreamSubscription.pending($0).events > 0 }
  }

  /// How many of the events that wait to go upstream come within a day of the 7 days past which it clamps them.
  ///
  /// - Throws: ``LogError`` when what waits can't be read.
  func clampRisk(at now: Timestamp) throws(LogError) -> Int {
    try upstreamSubscription.pendingEvents(
      datedBefore: now - EventsLimits.pastMax + .seconds(86_400), ofDialects: ClampGuard.isClamped) ?? 0
  }

  var statuses: [DestinationStatus] { all.map(\.status) }

  /// The types of those that are configured, by name.
  var types: [String: String] {
    Dictionary(all.filter { !($0 is RemovedSink) }.map { ($0.name, $0.type) }) { first, _ in first }
  }

  /// Flushes all at once; counts what went to the upstream.
  func flush(until deadline: ContinuousClock.Instant) async -> FlushResult {
    await withTaskGroup(of: (Bool, FlushResult).self) { group in
      for destination in all {
        group.addTask { (destination.name == Self.upstreamName, await destination.flush(until: deadline)) }
      }
      var result = FlushResult(flushed: 0, pending: 0)
      for await (isUpstream, flushed) in group where isUpstream { result = flushed }
      return result
    }
  }

  /// Flushes all at once, until what waits is settled or the time is up.
  func flushAll(until deadline: ContinuousClock.Instant) async {
    await withTaskGroup(of: Void.self) { group in
      for destination in all { group.addTask { _ = await destination.flush(until: deadline) } }
    }
  }

  func stop(until deadline: ContinuousClock.Instant) async {
    await withTaskGroup(of: Void.self) { group in
      for destination in all { group.addTask { await destination.stop(until: deadline) } }
    }
    await client.shutdown()
  }
}

extension DeadLetterLimits {
  init(_ deadLetters: RelayConfiguration.DeadLetters) {
    self.init(size: deadLetters.maxSize, retention: deadLetters.retention)
  }
}
