import Clocks
import EventLog

/// One app's lane, of new events or of those that are sent again, as the engine holds it: its state, and where it stands at this moment. Holds no event.
///
/// Belongs to the engine's thread.
final class DeliveryLane {
  /// What users are told about the lane when it isn't simply running.
  struct Notice: Equatable {
    var state: DestinationStatus.State
    var detail: String
  }

  let app: String
  let lane: Lane
  /// How its events are sent, and where.
  var upstream: AppUpstream
  var outlet: Outlet
  var state: DeliveryState
  /// It waits for its turn to send.
  var isQueued = false
  /// The key whose budget it waits for.
  var waitsFor: SendingKey?
  /// It is queued because this key's budget has room: the next one that waits for that comes after it.
  var servedBy: SendingKey?
  /// When it came to wait for its turn, among all that did.
  var place = 0
  /// When the oldest of its events was received, as known then.
  var oldest = Timestamp(milliseconds: .max)
  /// What it does when its turn comes.
  var plan = LaneDecision.nothing
  /// The cursor is past events that nothing here knows of.
  var needsRewind = false
  /// The app had no key when the lane last tried.
  var isKeyless = false
  /// The protocol of its next events, which isn't the one that the app speaks; nil: they may go.
  var heldDialect: UInt8?
  /// When the oldest events have lingered enough; nil: not looked at since the last batch.
  var lingerUntil: ContinuousClock.Instant?
  /// With so many events it is worth reading whether the batch is full by its bytes.
  var fullFrom: Int?
  /// The moment its timer is set to.
  var timer: ContinuousClock.Instant?
  /// Nothing can be sent before, however much somebody flushes; nil: nothing stands against it.
  var blocked: LaneBlock?
  var notice: Notice?
  /// The kinds of failures that were logged since something was delivered.
  var toldOf: Set<String> = []
  /// The key that was refused last: its fingerprint.
  var refusedKey: String?
  /// The key whose pause it waits for, and tells of.
  var pausedBy: SendingKey?
  var meter = RateMeter()
  var tasks: [Int: Task<Void, Never>] = [:]
  /// By then whatever is under way has an answer, or has failed for want of one; nil: nothing is.
  var answersDue: ContinuousClock.Instant?

  var isWaitingForKey: Bool { waitsFor != nil }

  init(_ lane: Lane, app: String, state: DeliveryState, _ upstream: AppUpstream, _ outlet: Outlet) {
    self.app = app
    self.lane = lane
    self.upstream = upstream
    self.outlet = outlet
    self.state = state
  }
}

/// What a flush doesn't skip.
enum LaneBlock: Equatable {
  case hold
  case until(ContinuousClock.Instant)

  func outlasts(_ moment: ContinuousClock.Instant) -> Bool {
    switch self {
    case .hold: true
    case .until(let end): end > moment
    }
  }
}
