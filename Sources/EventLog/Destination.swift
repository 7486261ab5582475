import JSON
import Clocks

/// Something events go to: the upstream, or a sink. It reads its own subscription and delays nobody else.
public protocol Destination: AnyObject, Sendable {
  var name: String { get }
  /// `upstream`, or the sink's type.
  var type: String { get }

  /// Begins to work. Called once.
  func start()

  /// Skips lingering, and waits until what was waiting at the call is settled or the deadline has come.
  /// Skips no delay that the other side asked for, no retry delay and no pacing.
  /// - Returns: how many events were delivered meanwhile, and how many still wait.
  func flush(until deadline: ContinuousClock.Instant) async -> FlushResult

  /// Stops: sends what can be sent until the deadline, then closes files and commits its positions.
  func stop(until deadline: ContinuousClock.Instant) async

  /// The configuration was read again: what was given up until then is taken up.
  func reloaded() async

  /// Whether it does nothing any more: ``stop(until:)`` may return before, when a call to a disk hangs.
  var hasEnded: Bool { get }

  var status: DestinationStatus { get }
}

extension Destination {
  public func reloaded() async {}
  public var hasEnded: Bool { true }
}

public struct FlushResult: Sendable, Equatable {
  public var flushed: Int
  public var pending: Int

  public init(flushed: Int, pending: Int) {
    self.flushed = flushed
    self.pending = pending
  }
}

/// How a destination is, for `/status`, `/healthz` and metrics. Holds no secret and no event's content.
public struct DestinationStatus: Sendable {
  /// A closed set, in the words users read.
  public enum State: String, Sendable, CaseIterable {
    /// Nothing waits, or all goes well.
    case running
    /// The upstream's limits are used up for now: what waits goes on as they allow.
    case paced
    /// A delay runs after a failure or a `Retry-After`.
    case waiting
    /// The upstream refuses the key.
    case refused
    /// Something between us and the upstream answers in its place.
    case foreign
    /// Events are held: no key, another upstream, an app that was removed.
    case held
    /// The other side wants nothing any more (410): nothing is sent until the configuration is read again.
    case gone
    /// It can't work now and tries again by itself: a file, a directory, a disk.
    case failing
    case stopped
  }

  public struct LaneStatus: Sendable {
    public var app: String
    public var state: State
    public var detail: String?
    public var pending: Int
    public var retryAt: Timestamp?
    /// It is the lane of the app's events that are sent again.
    public var isReplayed: Bool
    /// Events a second that were delivered over the last minute; nil when none were.
    public var rate: Double?
    /// Installs whose events wait for their own limit, not for the lane.
    public var parkedInstalls: Int
    /// How long what waits now takes as things go; nil when nobody can tell.
    public var drainsIn: Duration?

    public init(
      app: String, state: State, detail: String?, pending: Int, retryAt: Timestamp?, isReplayed: Bool = false,
      rate: Double? = nil, parkedInstalls: Int = 0, drainsIn: Duration? = nil
    ) {
      self.rate = rate
      self.parkedInstalls = parkedInstalls
      self.drainsIn = drainsIn
      self.app = app
      self.isReplayed = isReplayed
      self.state = state
      self.detail = detail
      self.pending = pending
      self.retryAt = retryAt
    }
  }

  public var name: String
  public var type: String
  public var state: State
  /// What is wrong and what to do, in a sentence.
  public var detail: String?
  public var pending: Pending
  public var retryAt: Timestamp?
  public var lastError: String?
  public var ledger: Ledger
  /// By app, at most 100 of them, those with the most waiting first.
  public var lanes: [LaneStatus]
  /// Since when something waits with no delay that explains it and nothing was done; nil when all moves.
  public var stuckSince: ContinuousClock.Instant?

  public init(
    name: String, type: String, state: State, detail: String? = nil, pending: Pending, retryAt: Timestamp? = nil,
    lastError: String? = nil, ledger: Ledger, lanes: [LaneStatus] = [], stuckSince: ContinuousClock.Instant? = nil
  ) {
    self.name = name
    self.type = type
    self.state = state
    self.detail = detail
    self.pending = pending
    self.retryAt = retryAt
    self.lastError = lastError
    self.ledger = ledger
    self.lanes = lanes
    self.stuckSince = stuckSince
  }
}
