import Clocks
import EventLog

/// The pause of a key that the upstream refuses, where a protocol has all that is sent with a key wait for that.
///
/// It is the key's, whoever sends with it: an app's new events, those that are sent again, another app with the same key.
///
/// | what happens | what follows |
/// |---|---|
/// | a request is refused | nobody sends with the key for a minute |
/// | that is over | the first lane that has its turn asks, with one request; a minute begins with it for the others |
/// | the request that asks is refused | a minute from then on |
/// | it has no answer, or one that tells nothing of the key | the rest of that minute |
/// | any other answer of the API to what was sent since | the pause ends, all go on |
/// | an answer to what was sent before | nothing |
///
/// No lane is chosen to ask before its request is there: one that vanishes, is emptied or gets another key is in nobody's way.
struct KeyPause: Sendable, Equatable {
  static let length: Duration = .seconds(60)
  /// Kept so long after the moment when somebody may ask; then it is forgotten, since nobody has anything to send.
  static let keptFor: Duration = .seconds(3600)
  /// Looked at again after so long when the request that asks takes longer than one may.
  private static let overdue: Duration = .seconds(1)

  /// Until when nobody sends, and why.
  private(set) var delay: LaneDelay
  /// The number of the request that asks; nil: none is under way.
  private(set) var probe: Int?
  /// Requests up to this number were sent before the refusal.
  private let lastBefore: Int

  init(_ delay: LaneDelay, lastBefore: Int) {
    self.delay = delay
    self.lastBefore = lastBefore
  }

  /// Whether a request was sent since the key was refused: what it is answered tells about the pause.
  func isNews(_ flight: Int) -> Bool { flight > lastBefore }

  /// What a lane waits for; nil: it may ask now.
  func wait(at now: ContinuousClock.Instant) -> LaneDelay? {
    if now < delay.until { return delay }
    guard probe != nil else { return nil }
    var late = delay
    late.retryAt = delay.retryAt + (now - delay.until) + Self.overdue
    late.until = now + Self.overdue
    return late
  }

  /// A request goes out that asks for all.
  ///
  /// - Parameter longest: how long its answer may take.
  mutating func asks(_ flight: Int, longest: Duration, now: ContinuousClock.Instant, wallNow: Timestamp) {
    probe = flight
    delay = LaneDelay(
      length: max(Self.length, longest), state: delay.state, detail: delay.detail, now: now, wallNow: wallNow)
  }

  /// A request has ended, with whatever answer.
  mutating func ended(_ flight: Int) {
    if probe == flight { probe = nil }
  }

  /// Whether nobody has asked for so long that it may be forgotten.
  func isForgotten(at now: ContinuousClock.Instant) -> Bool { probe == nil && delay.until + Self.keptFor <= now }
}
