import Clocks
import EventLog
import Observability
import Synchronization

/// Keeps an event that a sender repeats from being stored twice. Thread-safe.
///
/// Knows nothing of files: what is remembered over a restart is ``IDKeeper``'s to keep.
public final class Deduplication: Sendable {
  /// What was taken out of a request, since it is or will be stored by another.
  public struct Repeats: Sendable, Equatable {
    public var events = 0
    /// Those of them whose bytes differ from what the id stood for.
    public var conflicts = 0
    /// Those of them that were clamped.
    public var clamped = 0

    public init() {}
  }

  struct State: ~Copyable {
    var window: DuplicateWindow
    var lastTicket: UInt64 = 0
    /// Who waits for a ticket's events to be stored.
    var waiting: [UInt64: [JoinedOutcome]] = [:]
  }

  let state: Mutex<State>
  private let start = ContinuousClock.now
  private let clock: (@Sendable () -> Int64)?

  /// - Parameters:
  ///   - window: how long an id is remembered.
  ///   - maxIDs: how many at most; 72 bytes each.
  ///   - clock: milliseconds on a clock that never runs backwards; nil: the system's.
  public init(window: Duration, maxIDs: Int, clock: (@Sendable () -> Int64)? = nil) {
    state = Mutex(State(window: DuplicateWindow(window: window.milliseconds, maxIDs: maxIDs)))
    self.clock = clock
  }

  /// Milliseconds.
  var now: Int64 {
    if let clock { return clock() }
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }

  /// Milliseconds.
  var window: Int64 { state.withLock { $0.window.window } }

  func change(window: Duration) { state.withLock { $0.window.window = window.milliseconds } }

  /// Ids remembered, and those that went before their time since there were too many.
  public var counts: (ids: Int, evicted: UInt64) { state.withLock { ($0.window.count, $0.window.evicted) } }

  /// Forgets an event, so that its id counts again.
  /// - Returns: false when it wasn't remembered.
  func forget(_ key: EventKey, sequence: UInt64) -> Bool {
    state.withLock { $0.window.forget(key, sequence: sequence) }
  }

  /// Takes in an event that was stored before this process began.
  ///
  /// - Parameter age: how long ago, in milliseconds.
  func restore(_ key: EventKey, body: UInt64, sequence: UInt64, age: Int64) {
    let moment = now - age
    state.withLock { $0.window.restore(key, body: body, sequence: sequence, at: moment) }
  }
}
