import Synchronization

/// Wakes one task from any thread: however often it is called before the task runs, the task runs once.
final class Waker: Sendable {
  private enum State {
    case quiet
    case called
    case waiting(CheckedContinuation<Void, Never>)
  }

  private let state = Mutex(State.quiet)
  /// Spares the lock while a wake is already on its way.
  private let isCalled = Atomic(false)

  func wake() {
    guard !isCalled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      defer { state = .called }
      guard case .waiting(let continuation) = state else { return nil }
      return continuation
    }
    waiting?.resume()
  }

  /// Waits for the next wake; at once when there was one since the last. For one task at a time.
  func wait(isolation: isolated (any Actor)? = #isolation) async {
    await withCheckedContinuation(isolation: isolation) { continuation in
      let wasCalled = state.withLock { state in
        if case .called = state { return true }
        state = .waiting(continuation)
        return false
      }
      if wasCalled { continuation.resume() }
    }
    state.withLock { $0 = .quiet }
    // Cleared before the work that follows, so that what comes during it wakes again.
    isCalled.store(false, ordering: .sequentiallyConsistent)
  }
}
