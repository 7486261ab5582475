import Clocks

/// How many requests of one lane may be under way: as many as the upstream answers without getting slower.
///
/// Compares how long answers take with how long they take at best. What exceeds that is taken for waiting in the upstream:
/// less than one request waiting, one more is let go; more than two, one less.
struct ConcurrencyControl: Sendable {
  private(set) var most: Int
  private(set) var limit = 1
  private var least = Double.infinity
  private var usual: Double?
  private var answers = 0
  /// Answers since the best time was last forgotten.
  private var age = 0
  /// Answers to come before more than one is tried again.
  private var pause = 0

  /// After requests got in one another's way, so many answers go by before it is tried again.
  static let pauseLength = 256
  /// After nothing was found to go beside what is under way.
  static let shortPause = 16
  /// After so many answers the best time is found anew.
  static let leastAnswers = 2000
  static let waitingLow = 1.0
  static let waitingHigh = 2.0

  init(most: Int) { self.most = max(1, most) }

  /// The configuration allows another number from now on.
  mutating func change(most: Int) {
    self.most = max(1, most)
    limit = min(limit, self.most)
  }

  /// An answer came.
  ///
  /// - Parameter underWay: requests of the lane that were, this one included.
  mutating func answered(after took: Duration, underWay: Int) {
    let seconds = max(took.seconds, 1e-6)
    age += 1
    if age >= Self.leastAnswers {
      // The way to the upstream may have become longer: with few requests under way the best time is found anew.
      (least, usual, age, limit) = (.infinity, nil, 0, max(1, limit / 2))
    }
    least = min(least, seconds)
    usual = usual.map { $0 * 0.8 + seconds * 0.2 } ?? seconds
    if pause > 0 { pause -= 1 }
    guard most > 1, pause == 0, underWay >= limit, let usual else { return }
    answers += 1
    guard answers >= limit else { return }
    answers = 0
    let waiting = Double(limit) * (1 - least / usual)
    if waiting < Self.waitingLow { limit = min(limit + 1, most) }
    if waiting > Self.waitingHigh { limit = max(limit - 1, 1) }
  }

  /// Nobody answers, or with a failure: one request finds out when that is over.
  mutating func failed() { self = ConcurrencyControl(most: most) }

  /// Few of the events could go beside those under way.
  mutating func conflicted() {
    limit = 1
    pause = Self.pauseLength
    answers = 0
  }

  /// None of those looked at could go beside so many under way: more are tried again soon.
  mutating func crowded(_ underWay: Int) {
    limit = min(max(1, underWay), most)
    pause = Self.shortPause
    answers = 0
  }
}
