import Clocks
import EventLog

/// What a sink's thread does, a step at a time, without the thread.
///
/// Not thread-safe; lives on the sink's thread, where it may block in file calls. It must not block for another machine:
/// whatever waits for one tells ``SinkWake`` when it is done.
protocol SinkWorker: AnyObject {
  var condition: SinkCondition { get }

  /// Does the next piece of work: at most a batch, and what is due.
  ///
  /// - Parameter settles: somebody flushes or stops: settle as soon as nothing more is there to read.
  func step(now: ContinuousClock.Instant, settles: Bool) -> SinkStep

  /// The last thing before the sink ends: settles what is written, commits, closes.
  func finish()

  /// The configuration was read again: takes up what was given up until then.
  func reloaded()
}

extension SinkWorker {
  func reloaded() {}
}

/// What a sink's thread does next.
enum SinkStep: Equatable {
  /// There is more to do at once.
  case again
  /// Nothing to do before this moment, unless events come or somebody is in a hurry.
  case wait(until: ContinuousClock.Instant)
  /// Like `wait`, and events that come change nothing either: a delay runs.
  case rest(until: ContinuousClock.Instant)
  /// Something is under way that ends by itself, at latest then: a stop waits for it as long as it may.
  case busy(until: ContinuousClock.Instant)
}

/// How a sink is, in users' words.
struct SinkCondition: Equatable {
  /// What keeps the sink from working now; nil when nothing does.
  var failure: String?
  /// The state to show; nil: running, or failing while there is a failure.
  var state: DestinationStatus.State?
  var retryAt: Timestamp?
  /// The last failure, whether it is over or not.
  var lastError: String?
}

/// Has a sink's next step run at once: for what a worker waits for besides the log. From any thread.
struct SinkWake: Sendable {
  private let wake: @Sendable () -> Void

  init(_ wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func callAsFunction() { wake() }
}
