import Clocks
import EventLog

/// What a lane's next step depends on.
struct LaneFacts: Sendable {
  var now: ContinuousClock.Instant
  /// Events of the lane that are not settled.
  var pendingEvents: Int
  /// When the oldest of them has lingered enough.
  var lingerUntil: ContinuousClock.Instant
  /// With so many events a batch may be full by its bytes.
  var fullFrom = Int.max
  /// Somebody flushes, or the destination is stopping.
  var skipsLinger = false
  /// The app is gone from the configuration, or its key is.
  var isKeyless = false
}

/// What a lane does next.
enum LaneDecision: Sendable, Equatable {
  /// It has nothing: it can be forgotten unless a delay or a count must be remembered.
  case nothing
  /// Nothing until somebody gives the app a key.
  case hold
  /// Nothing before this moment.
  case wait(until: ContinuousClock.Instant)
  /// Reads a batch and sends it.
  case send(lastSequence: UInt64)
  /// Reads a batch and sends it only if it has become full by its bytes; else waits.
  case sendIfFull(until: ContinuousClock.Instant)

  var sends: Bool {
    switch self {
    case .send, .sendIfFull: true
    case .nothing, .hold, .wait: false
    }
  }
}
