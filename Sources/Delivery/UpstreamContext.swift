import Clocks
import DeadLetters
import EventLog
import HTTPClient
import Observability

/// What the upstream's destination works with.
struct UpstreamContext: Sendable {
  static let destination = "upstream"

  let settings: UpstreamSettings
  let subscription: any Subscription
  let client: any HTTPSending
  let scheduler: any DeliveryScheduler
  let keys: any UpstreamKeys
  let deadLetters: DeadLetterStore
  /// The instance's id.
  let relay: String
  let metrics: DeliveryMetrics
  let logger: Logger
  let clock: WallClock
  /// A random number from 0 up to 1, for jitter.
  let roll: @Sendable () -> Double

  /// As it is at this moment.
  var configuration: UpstreamConfiguration { settings.current }

  var limits: BatchLimits {
    BatchLimits(events: configuration.maxBatchEvents, bytes: configuration.maxBatchBytes)
  }

  /// Nothing takes longer than this when all is well, however slow the upstream is.
  var requestTimeMax: Duration { configuration.timeout + configuration.connectTimeout }
}
