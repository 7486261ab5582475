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
  /// Somebody has to change something first: the app has no key, or its events are not for this upstream.
  var isHeld = false
}

/// What a lane does next.
enum LaneDecision: Sendable, Equatable {
  /// It has nothing: it can be forgotten unless a delay or a count must be remembered.
  case nothing
  /// Nothing until somebody changes something.
  case hold
  /// Nothing before this moment.
  case wait(until: ContinuousClock.Instant)
  /// Nothing before a request under way is answered.
  case waitForAnswer
  /// What is held in memory can't be right: all of it is read anew.
  case readAnew
  /// Sends.
  case send(LaneSource)
  /// Reads a batch and sends it only if it has become full by its bytes; else waits.
  case sendIfFull

  var sends: Bool {
    switch self {
    case .send, .sendIfFull: true
    case .nothing, .hold, .wait, .waitForAnswer, .readAnew: false
    }
  }
}

/// Where the events of the next request come from.
enum LaneSource: Sendable, Equatable {
  /// What was sent before, as it was or halved.
  case again
  /// An event that is suspected of being poison, alone.
  case suspect
  /// What was parked and may go, and what follows in the lane.
  case onward
}
