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

extension AppRegistry: UpstreamKeys {}

/// Everything events go to: the upstream and the sinks, each with its own subscription.
final class Destinations: Sendable {
  static let upstreamName = "upstream"

  let all: [any Destination]
  let upstream: UpstreamDestination
  let deadLetters: DeadLetterStore
  let clampGuard: ClampGuard
  private let upstreamSubscription: any Subscription
  private let client: HTTPClientLoop

  init(_ daemon: Daemon, _ storage: Storage, _ intake: Intake, upstreamURL: String) throws {
    let configuration = daemon.configuration
    if daemon.options.adopts {
      try storage.audit.record("adopt", by: "run --adopt", ["upstream": .string(upstreamURL)])
    }
    let userAgent = "event-relay/\(RelayVersion.current)"
    client = HTTPClientLoop(name: "upstream", userAgent: userAgent, logger: daemon.logger)
    deadLetters = DeadLetterStore(
      directory: "\(storage.directory)/dead-letters", limits: DeadLetterLimits(configuration.deadLetters),
      logger: daemon.logger)
    upstreamSubscription = try storage.log.subscribe(Self.upstreamName, origin: .oldest)
    clampGuard = ClampGuard(upstreamSubscription, clock: daemon.clock, logger: daemon.logger)
    upstream = UpstreamDestination(
      // (The stand-in has another port at each start, and a data directory of its own: it's still the same upstream.)
      configuration: UpstreamConfiguration(
        configuration.upstream, url: upstreamURL, adopts: daemon.options.adopts || daemon.options.standsIn),
      subscription: upstreamSubscription, client: client, scheduler: client,
      keys: storage.apps, deadLetters: deadLetters, relay: storage.instanceID, metrics: daemon.metrics,
      logger: daemon.logger,
      didBury: intake.didBury)
    var all: [any Destination] = [upstream]
    for sink in configuration.sinks {
      let context = SinkContext(
        name: sink.name, common: sink.common, subscription: try storage.log.subscribe(sink.name, origin: .newest),
        relay: storage.instanceID, deadLetters: deadLetters, isDiskLow: { storage.freeSpace.isLow },
        clock: daemon.clock, metrics: daemon.metrics, logger: daemon.logger, userAgent: userAgent)
      all.append(SinkRegistry.make(sink, context))
    }
    self.all = all + (try Self.removedSinks(besides: all, storage, daemon.logger))
  }

  /// Sinks that are no longer configured. One that has had everything is forgotten; one that is still owed events keeps
  /// them, and the log with them: that must be seen.
  private static func removedSinks(
    besides configured: [any Destination], _ storage: Storage, _ logger: Logger
  ) throws -> [RemovedSink] {
    let names = Set(configured.map(\.name) + [IDKeeper.destination])
    return try storage.log.knownDestinations.filter { !names.contains($0) }.compactMap { name in
      let subscription = try storage.log.subscribe(name, origin: .newest)
      let waiting = subscription.pending.events
      guard waiting > 0 else {
        try subscription.discard()
        logger.info("a sink that is no longer configured has had all its events and is forgotten", about: name)
        return nil
      }
      logger.warning(
        "a sink that is no longer configured is still owed events: the log keeps them until it is put back",
        about: name, ["waiting": .integer(waiting)])
      return RemovedSink(subscription, record: "\(storage.directory)/positions/\(name).json")
    }
  }

  func start() {
    client.start()
    for destination in all { destination.start() }
  }

  /// Whether events of an app wait to go upstream.
  func isOwed(app name: String) -> Bool {
    [Lane.app(name), .replayed(name)].contains { upstreamSubscription.pending($0).events > 0 }
  }

  /// How many of the events that wait to go upstream come within a day of the 7 days past which it clamps them.
  func clampRisk(at now: Timestamp) -> Int {
    (try? upstreamSubscription.pendingEvents(datedBefore: now - EventsLimits.pastMax + .seconds(86_400))) ?? 0
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

extension UpstreamConfiguration {
  init(_ upstream: RelayConfiguration.Upstream, url: String, adopts: Bool) {
    self.init(
      url: url, linger: upstream.linger, maxBatchEvents: upstream.maxBatchEvents, maxBatchBytes: upstream.maxBatchBytes,
      timeout: upstream.timeout, connectTimeout: upstream.connectTimeout, caFile: upstream.caFile,
      retry: Retry(initial: upstream.retry.initial, max: upstream.retry.max, jitter: upstream.retry.jitter),
      rateLimit: RateLimit(
        events: upstream.rateLimit.eventsPerMinute, eventsPerInstall: upstream.rateLimit.perInstallPerMinute,
        margin: upstream.rateLimit.margin),
      concurrency: upstream.concurrency,
      onRefusedKey: upstream.onRefusedKey == .hold ? .hold : .deadLetter,
      onExpired: upstream.onExpired == .send ? .send : .deadLetter,
      order: upstream.order == .arrival ? .arrival : .oldestFirst, adoptsWaitingEvents: adopts)
  }
}

extension DeadLetterLimits {
  init(_ deadLetters: RelayConfiguration.DeadLetters) {
    self.init(size: deadLetters.maxSize, retention: deadLetters.retention)
  }
}
