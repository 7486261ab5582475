import Clocks
import DeadLetters
import EventLog
import HTTPClient
import JSON
import Observability

/// The upstream: sends each app's events in order, keeps what fails waiting, and gives up only what the upstream refuses.
///
/// Works on the scheduler's thread; its methods may be called from any.
public final class UpstreamDestination: Destination {
  public let type = "upstream"
  let context: UpstreamContext
  let engine: UpstreamEngine

  /// - Parameters:
  ///   - upstreams: the usual upstream, and those of apps that have their own.
  ///   - scheduler: the thread it works on; best the one the client lives on.
  ///   - relay: the instance's id.
  ///   - roll: a random number from 0 up to 1, for jitter.
  ///   - didBury: told of events whose dead letters are written.
  public init(
    upstreams: Upstreams, subscription: any Subscription, client: any HTTPSending,
    scheduler: any DeliveryScheduler, keys: any UpstreamKeys, deadLetters: DeadLetterStore, relay: String,
    metrics: MetricsRegistry, logger: Logger, clock: WallClock = .system,
    roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    didBury: BurialObserver? = nil
  ) {
    context = UpstreamContext(
      settings: UpstreamSettings(upstreams), subscription: subscription, client: client, scheduler: scheduler,
      keys: keys, deadLetters: deadLetters, relay: relay,
      metrics: DeliveryMetrics(metrics, destination: UpstreamContext.destination), logger: logger, clock: clock,
      roll: roll, didBury: didBury)
    engine = UpstreamEngine(
      context: context,
      opening: UpstreamOpening(
        attachment: subscription.attachment, waiting: subscription.waitingByApp, relay: relay, upstreams: upstreams))
  }

  public var name: String { UpstreamContext.destination }

  public func start() {
    let engine = engine
    context.subscription.onProgress { engine.waker.wake() }
    Task(executorPreference: context.scheduler) { await engine.run() }
  }

  public func flush(until deadline: ContinuousClock.Instant) async -> FlushResult {
    await engine.flush(until: deadline)
  }

  public func stop(until deadline: ContinuousClock.Instant) async { await engine.stop(until: deadline) }

  /// Takes another configuration into use: for whatever is sent from now on. With another upstream, the events that wait
  /// for the last one are held, as at a start; see ``holds(attachment:waiting:relay:upstreams:isConfigured:)``.
  ///
  /// - Parameter change: what else changes at once, the apps and their keys: nothing is sent between the two, so that no key
  ///   comes to another upstream than its own. Called on the scheduler's thread.
  public func reconfigure(_ upstreams: Upstreams, with change: @escaping @Sendable () -> Void = {}) async {
    await engine.reconfigure(upstreams, with: change)
  }

  /// Looks again at the apps whose events are held for want of a key. Call it when keys have changed.
  public func keysChanged() async { await engine.keysChanged() }

  /// Why some of what waits would not be sent if the relay were started now, and what to do: a sentence each.
  ///
  /// - Parameters:
  ///   - attachment: the subscription's.
  ///   - waiting: by app, how many events wait.
  ///   - isConfigured: whether an app is. What waits of one that isn't is held for that.
  public static func holds(
    attachment: JSONValue?, waiting: [String: Int], relay: String, upstreams: Upstreams,
    isConfigured: (String) -> Bool
  ) -> [String] {
    UpstreamOpening(attachment: attachment, waiting: waiting, relay: relay, upstreams: upstreams)
      .sentences(waiting, upstreams, isConfigured)
  }
}

extension Subscription {
  /// How many events wait, by app; those that are sent again among them.
  public var waitingByApp: [String: Int] {
    pendingLanes().reduce(into: [:]) { $0[$1.app ?? "", default: 0] += pending($1).events }
  }
}
