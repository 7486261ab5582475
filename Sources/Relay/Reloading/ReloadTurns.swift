import Synchronization

/// Has reloads run one after the other. What is wished for while one runs is one more, which begins after it and so reads the
/// file as it is then: however many come at once, they settle on the last.
final class ReloadTurns: Sendable {
  /// Who wants what.
  enum Wish: Sendable, Equatable {
    case reload(by: String)
    /// Files that the configuration names have changed.
    case files
  }

  private struct Waiter {
    var wish: Wish
    var resume: CheckedContinuation<ReloadOutcome, Never>
  }

  private struct State {
    var waiting: [Waiter] = []
    var isRunning = false
    var isClosed = false
    var closing: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())
  static let closed = ReloadOutcome(faults: ["the relay is stopping; nothing is reloaded any more"])

  /// How many wait for a turn, and how many for the end: for tests.
  var waiting: (wishes: Int, closers: Int) { state.withLock { ($0.waiting.count, $0.closing.count) } }

  /// Waits for a turn and for its outcome.
  ///
  /// - Parameter work: reloads once, for all who wish for it.
  func take(_ wish: Wish, _ work: @escaping @Sendable ([Wish]) async -> ReloadOutcome) async -> ReloadOutcome {
    await withCheckedContinuation { continuation in
      let (isClosed, begins) = state.withLock { state in
        guard !state.isClosed else { return (true, false) }
        state.waiting.append(Waiter(wish: wish, resume: continuation))
        defer { state.isRunning = true }
        return (false, !state.isRunning)
      }
      if isClosed { continuation.resume(returning: Self.closed) }
      if begins { Task { await run(work) } }
    }
  }

  private func run(_ work: @Sendable ([Wish]) async -> ReloadOutcome) async {
    while true {
      let (waiting, closing) = state.withLock { state -> ([Waiter], [CheckedContinuation<Void, Never>]) in
        let waiting = state.waiting
        state.waiting = []
        guard waiting.isEmpty else { return (waiting, []) }
        state.isRunning = false
        defer { state.closing = [] }
        return (waiting, state.closing)
      }
      guard !waiting.isEmpty else {
        for waiter in closing { waiter.resume() }
        return
      }
      let outcome = await work(waiting.map(\.wish))
      for waiter in waiting { waiter.resume.resume(returning: outcome) }
    }
  }

  /// Takes no wish any more, and waits until none is under way.
  func close() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        state.isClosed = true
        if state.isRunning { state.closing.append(continuation) }
        return !state.isRunning
      }
      if isIdle { continuation.resume() }
    }
  }
}
