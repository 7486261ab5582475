import Clocks
import Configuration
import DeadLetters
import EventLog
import Observability
import Records

/// A kind of place that events can be written to besides the upstream: how its sinks are configured and made.
///
/// How to add one, step by step, is told on the page <doc:AddingASink>.
public protocol SinkType: SinkFormat {
  /// What one sink of the type is told, read from its keys.
  associatedtype Options: SinkOptions

  /// Reads the type's own keys; what is wrong becomes a fault of the section, with what would be right.
  func options(from section: Section) -> Options

  /// Makes a sink, not started yet.
  func make(_ options: Options, _ context: SinkContext) -> any Destination
}

extension SinkType {
  public func read(_ section: Section) -> any SinkOptions { options(from: section) }
}

/// What a sink is given of the relay around it.
public struct SinkContext: Sendable {
  /// The sink's name, unique among the destinations.
  public var name: String
  /// What sinks of every type can be told.
  public var common: RelayConfiguration.Sink.Common
  /// The sink's own view of the log; it bears the sink's name.
  public var subscription: any Subscription
  /// The instance's id, `relay` in the records.
  public var relay: String
  /// Where events go that the other side will never take.
  public var deadLetters: DeadLetterStore
  /// Whether the disk has less left than must stay free; asked about once a second, off the cooperative pool.
  public var isDiskLow: @Sendable () -> Bool
  /// How many files a sink with one file an app may have open at this moment.
  public var openFilesMax: @Sendable () -> Int
  public var clock: WallClock
  /// What a sink that writes files writes them through.
  public var files: FileSystem
  public var metrics: MetricsRegistry
  public var logger: Logger
  /// What requests to others say they come from.
  public var userAgent: String

  public init(
    name: String, common: RelayConfiguration.Sink.Common = RelayConfiguration.Sink.Common(),
    subscription: any Subscription, relay: String, deadLetters: DeadLetterStore,
    isDiskLow: @escaping @Sendable () -> Bool = { false }, openFilesMax: @escaping @Sendable () -> Int = { 64 },
    clock: WallClock = .system, files: FileSystem = .system,
    metrics: MetricsRegistry, logger: Logger, userAgent: String = "event-relay"
  ) {
    self.name = name
    self.common = common
    self.subscription = subscription
    self.relay = relay
    self.deadLetters = deadLetters
    self.isDiskLow = isDiskLow
    self.openFilesMax = openFilesMax
    self.clock = clock
    self.files = files
    self.metrics = metrics
    self.logger = logger
    self.userAgent = userAgent
  }
}
