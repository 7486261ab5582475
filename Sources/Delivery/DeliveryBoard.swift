import Clocks
import EventLog
import Synchronization

/// How the lanes are, for whoever asks from another thread.
final class DeliveryBoard: Sendable {
  /// What explains that a lane's events aren't being sent this moment.
  enum Explanation: Sendable, Equatable {
    /// Nothing but that others are before it.
    case turn
    /// Something that is over by then.
    case until(ContinuousClock.Instant)
    /// Something that only somebody's change ends.
    case hold
  }

  struct Entry: Sendable {
    var state: DestinationStatus.State = .running
    var detail: String?
    var retryAt: Timestamp?
    var explanation: Explanation
    /// The key whose limit it waits for: what is known of that holds for the lane; nil: it waits for none.
    var key: String?
    var rate = RateMeter()
    var parkedInstalls = 0
    /// Events of the install of which most are parked.
    var parkedLongest = 0
  }

  /// When the limit of a key lets the first lane go on of those that wait for it.
  struct Pace: Sendable {
    var explanation: Explanation
    /// Nil: after an answer.
    var retryAt: Timestamp?
  }

  struct State: Sendable {
    /// Lanes in memory, and those whose state is worth telling though nothing of theirs waits.
    var lanes: [Lane: Entry] = [:]
    /// Of keys that lanes wait for, by their fingerprints; nothing while one of those lanes has its turn.
    var paces: [String: Pace] = [:]
    /// Why what comes for an upstream is held, whether something of it waits or not.
    var hold: String?
    /// What holds the destination as a whole.
    var whole: (state: DestinationStatus.State, detail: String)?
    var lastError: String?
    /// Why positions can't be written, while they can't.
    var commitFault: String?
    var isStopped = false
    /// Since when something was seen to wait that no lane knows of.
    var unexplainedSince: ContinuousClock.Instant?

    /// When a lane goes on; nil when that isn't known.
    func retryAt(_ entry: Entry) -> Timestamp? { entry.retryAt ?? entry.key.flatMap { paces[$0]?.retryAt } }

    func explanation(_ entry: Entry) -> Explanation {
      entry.key.flatMap { paces[$0]?.explanation } ?? entry.explanation
    }
  }

  private let state = Mutex(State())

  var snapshot: State { state.withLock { $0 } }

  func change(_ body: (inout State) -> Void) {
    state.withLock { state in
      state.unexplainedSince = nil
      body(&state)
    }
  }

  /// Notes how a lane is.
  func set(_ lane: Lane, _ entry: Entry) {
    change { $0.lanes[lane] = entry }
  }

  /// Notes when a key's limit lets the first of those go on that wait for it; nil: there is nothing to wait for.
  func setPace(_ key: String, _ pace: Pace?) {
    change { $0.paces[key] = pace }
  }

  /// Since when something waits that nothing explains; nil when all moves.
  ///
  /// - Parameters:
  ///   - waiting: how many events wait.
  ///   - patience: how long a lane may take beyond what explains it.
  ///   - longest: how long a request may take: what no lane knows of may wait as long.
  func stuckSince(
    waiting: Int, now: ContinuousClock.Instant, patience: Duration, longest: Duration
  ) -> ContinuousClock.Instant? {
    guard waiting > 0 else { return nil }
    return state.withLock { state in
      guard state.whole == nil, !state.isStopped else { return nil }
      var oldest: ContinuousClock.Instant?
      var isExplained = false
      for entry in state.lanes.values {
        switch state.explanation(entry) {
        case .turn: continue
        case .hold: isExplained = true
        case .until(let moment):
          isExplained = true
          if now - moment > patience { oldest = min(oldest ?? moment, moment) }
        }
      }
      if isExplained { return oldest }
      let since = state.unexplainedSince ?? now
      state.unexplainedSince = since
      return now - since > patience + longest ? since : nil
    }
  }
}
