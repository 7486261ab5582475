import Clocks
import EventLog
import Observability

/// A kind of place that events can be written to besides the upstream: how its sinks are made from their settings.
///
/// # How to add a sink type
///
/// 1. Make a folder `Sources/Sinks/<Type>/` with a class that is a `Destination`. It reads one lane, `.all`, of the
///    subscription it is given; does its blocking work on a thread of its own (`WorkerThread`); acknowledges what is
///    durable on the other side, and only then commits. What it must remember (open files, a time to wait until) goes into
///    the commit's attachment, in the same atomic write as the position; give that a `version`.
/// 2. In the same folder, make a type that conforms to this protocol: its ``name`` is what users write as `type:`, and
///    ``make(_:_:)`` reads its keys from the settings. A wrong one is a ``SinkFault`` that says what would be right.
/// 3. Add its line to ``SinkRegistry/types``.
///
/// What sinks of files share lies in `Files/`: names by time, rotation, retention. Keep what is decided apart from what is
/// done, so that it is tested without a file or a clock; see `NDJSON/` for the pattern.
public protocol SinkType: Sendable {
  /// What users write as the sink's `type`.
  var name: String { get }

  /// Makes a sink, not started yet.
  func make(_ settings: SinkSettings, _ context: SinkContext) throws(SinkFault) -> any Destination
}

/// What a sink is given of the relay around it.
public struct SinkContext: Sendable {
  /// The sink's own view of the log; it must bear the sink's name.
  public var subscription: any Subscription
  /// The instance's id, `relay` in the records.
  public var relay: String
  /// Whether the disk has less left than must stay free; asked about once a second, off the cooperative pool.
  public var isDiskLow: @Sendable () -> Bool
  public var clock: WallClock
  public var metrics: MetricsRegistry
  public var logger: Logger

  public init(
    subscription: any Subscription, relay: String, isDiskLow: @escaping @Sendable () -> Bool, clock: WallClock,
    metrics: MetricsRegistry, logger: Logger
  ) {
    self.subscription = subscription
    self.relay = relay
    self.isDiskLow = isDiskLow
    self.clock = clock
    self.metrics = metrics
    self.logger = logger
  }
}
