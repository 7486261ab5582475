import Clocks
import DeadLetters
import EventLog
import HTTPClient
import Observability

/// Is told of an app's events that went to the dead letters. Called on the scheduler's thread, and may wait for the disk.
public typealias BurialObserver = @Sendable (_ app: String, _ events: [StoredEvent]) -> Void

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
  /// Told of an app's events whose dead letters are synced, before they are acknowledged; nil: nobody wants to know.
  let didBury: BurialObserver?

  /// As they are at this moment.
  var upstreams: Upstreams { settings.current }

  /// How an app's events are sent at this moment.
  func configuration(of app: String) -> UpstreamConfiguration { settings.configuration(of: app) }

  /// How a lane's events are sent at this moment.
  func configuration(of lane: Lane) -> UpstreamConfiguration { settings.configuration(of: lane.app ?? "") }
}
