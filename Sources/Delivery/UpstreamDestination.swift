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
  ///   - scheduler: the thread it works on; best the one the client lives on.
  ///   - relay: the instance's id.
  ///   - roll: a random number from 0 up to 1, for jitter.
  ///   - didBury: told of events whose dead letters are written.
  public init(
    configuration: UpstreamConfiguration, subscription: any Subscription, client: any HTTPSending,
    scheduler: any DeliveryScheduler, keys: any UpstreamKeys, deadLetters: DeadLetterStore, relay: String,
    metrics: MetricsRegistry, logger: Logger, clock: WallClock = .system,
    roll: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    didBury: BurialObserver? = nil
  ) {
    context = UpstreamContext(
      settings: UpstreamSettings(configuration), subscription: subscription, client: client, scheduler: scheduler,
      keys: keys,
      deadLetters: deadLetters, relay: relay,
      metrics: DeliveryMetrics(metrics, destination: UpstreamContext.destination), logger: logger, clock: clock,
      roll: roll, didBury: didBury)
    engine = UpstreamEngine(
      context: context,
      opening: UpstreamOpening(
        attachment: subscription.attachment, pendingEvents: subscription.pending.events, relay: relay,
        configuration: configuration))
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
  /// for the last one are held, as at a start; see ``hold(attachment:pendingEvents:relay:configuration:)``.
  public func reconfigure(_ configuration: UpstreamConfiguration) async { await engine.reconfigure(configuration) }

  /// Looks again at the apps whose events are held for want of a key. Call it when keys have changed.
  public func keysChanged() async { await engine.keysChanged() }

  /// The upstream that waiting events were accepted for, as a subscription's attachment has it; nil when it has none.
  public static func recordedURL(in attachment: JSONValue?) -> String? { attachment?["url"]?.string }

  /// Why nothing would be sent if the relay were started now, and what to do; nil when all is well.
  public static func hold(
    attachment: JSONValue?, pendingEvents: Int, relay: String, configuration: UpstreamConfiguration
  ) -> String? {
    UpstreamOpening(
      attachment: attachment, pendingEvents: pendingEvents, relay: relay, configuration: configuration
    ).hold
  }
}
