import Observability
import Synchronization

/// Keeps one app's senders from filling the log: at most so many events a minute for each app. Thread-safe.
///
/// What an app's last minute held is all that is kept of it: half a kilobyte, and nothing once a minute was quiet.
public final class SenderLimit: Sendable {
  /// Apps past which the quiet ones are looked for.
  static let appsBeforeSweep = 256
  /// How often a refused app is told of in the log.
  static let tellingInterval: Int64 = 60

  private struct State {
    var apps: [String: MinuteWindow] = [:]
    var told: [String: Int64] = [:]
    /// How many apps there may be before the next look for quiet ones.
    var sweepAt = SenderLimit.appsBeforeSweep
  }

  /// What was taken in, for ``giveBack(_:)``.
  struct Taken: Sendable {
    var app: String
    var events: Int
    var second: Int64
  }

  enum Decision: Sendable {
    /// With what was counted; nil without a limit.
    case taken(Taken?)
    /// Seconds after which the request would fit.
    case refused(retryAfter: Int)
  }

  private let perMinute: Atomic<Int>
  private let clock: @Sendable () -> Int64
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameters:
  ///   - perMinute: events; no less than a request may hold, else there are requests that never fit; 0: no limit, and nothing is
  ///     counted.
  ///   - clock: seconds on a clock that never runs backwards.
  public init(perMinute: Int, logger: Logger, clock: (@Sendable () -> Int64)? = nil) {
    self.perMinute = Atomic(perMinute)
    self.logger = logger
    let start = ContinuousClock.now
    self.clock = clock ?? { (ContinuousClock.now - start).components.seconds }
  }

  /// Puts another limit in place, at once.
  public func change(perMinute: Int) { self.perMinute.store(perMinute, ordering: .relaxed) }

  func take(_ events: Int, of app: String) -> Decision {
    let perMinute = perMinute.load(ordering: .relaxed)
    guard perMinute > 0 else { return .taken(nil) }
    let second = clock()
    let (wait, isNews) = state.withLock { state in
      if state.apps.count >= state.sweepAt, state.apps[app] == nil {
        state.apps = state.apps.filter { !$0.value.isIdle(at: second) }
        state.told = state.told.filter { second - $0.value < Self.tellingInterval }
        state.sweepAt = max(Self.appsBeforeSweep, 2 * state.apps.count)
      }
      let wait = state.apps[app, default: MinuteWindow(at: second)].take(events, limit: perMinute, at: second)
      guard wait > 0, second - state.told[app, default: -Self.tellingInterval] >= Self.tellingInterval else {
        return (wait, false)
      }
      state.told[app] = second
      return (wait, true)
    }
    if isNews {
      logger.warning(
        "a sender is over ingest.max_events_per_minute and gets 429", about: app,
        ["limit": .integer(perMinute), "retry_after": .integer(wait)])
    }
    return wait == 0 ? .taken(Taken(app: app, events: events, second: second)) : .refused(retryAfter: wait)
  }

  func giveBack(_ taken: Taken) {
    state.withLock { $0.apps[taken.app]?.giveBack(taken.events, takenAt: taken.second) }
  }

  /// Apps that something is kept of.
  var apps: Int { state.withLock { $0.apps.count } }
}
