import EventLog
import Synchronization

/// Waits for several requests' events, the asker's own and those it repeats, and tells their common fate once.
///
/// All stored, or else the first refusal: then the asker comes again, and finds what was stored to be duplicates.
final class JoinedOutcome: Sendable {
  private struct State {
    /// The asker's own, which comes last to begin with: it brings the completion.
    var left = 1
    var own: AppendOutcome?
    var refusal: AppendRefusal?
    var completion: (@Sendable (AppendOutcome) -> Void)?
  }

  private let state = Mutex(State())

  /// Another request is waited for.
  func add() { state.withLock { $0.left += 1 } }

  /// Tells whom to tell; before ``finishOwn(_:)``.
  func tell(_ completion: @escaping @Sendable (AppendOutcome) -> Void) { state.withLock { $0.completion = completion } }

  func finishOwn(_ outcome: AppendOutcome) {
    finish {
      $0.own = outcome
      if case .refused(let refusal) = outcome { $0.refusal = refusal }
    }
  }

  func finishOther(_ refusal: AppendRefusal?) { finish { $0.refusal = $0.refusal ?? refusal } }

  private func finish(_ change: (inout State) -> Void) {
    let ended = state.withLock { state -> State? in
      change(&state)
      state.left -= 1
      return state.left == 0 ? state : nil
    }
    guard let ended, let own = ended.own else { return }
    ended.completion?(ended.refusal.map(AppendOutcome.refused) ?? own)
  }
}
