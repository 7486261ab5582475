import Synchronization

/// A value that tests wait for: no sleeping, no polling.
public final class Fact<Value: Sendable>: Sendable {
  fileprivate struct State {
    var value: Value
    var waiting: [(id: Int, holds: @Sendable (Value) -> Bool, resume: CheckedContinuation<Value?, Never>)] = []
    var nextID = 0
  }

  fileprivate let state: Mutex<State>

  public init(_ value: Value) { state = Mutex(State(value: value)) }

  public var value: Value { state.withLock { $0.value } }

  /// Changes the value and wakes whoever waited for what it is now.
  public func change(_ body: @Sendable (inout Value) -> Void) {
    let (woken, value) = state.withLock { state in
      body(&state.value)
      let woken = state.waiting.filter { $0.holds(state.value) }
      state.waiting.removeAll { $0.holds(state.value) }
      return (woken, state.value)
    }
    for waiter in woken { waiter.resume.resume(returning: value) }
  }

  /// Waits until the value is such; gives up with nil after the limit, which only ever ends a test that has failed.
  @discardableResult
  public func wait(within limit: Duration = .seconds(300), until holds: @escaping @Sendable (Value) -> Bool) async
    -> Value?
  {
    let id = state.withLock { state in
      state.nextID += 1
      return state.nextID
    }
    let watchdog = Task {
      try await Task.sleep(for: limit)
      state.withLock { state in
        let at = state.waiting.firstIndex { $0.id == id }
        return at.map { state.waiting.remove(at: $0).resume }
      }?.resume(returning: nil)
    }
    defer { watchdog.cancel() }
    return await withCheckedContinuation { continuation in
      let now = state.withLock { state in
        if holds(state.value) { return Optional(state.value) }
        state.waiting.append((id, holds, continuation))
        return nil
      }
      if let now { continuation.resume(returning: now) }
    }
  }
}

extension Fact {
  /// Takes the first of several things, for whoever asks first; nil when there is none left.
  public func take<Element>() -> Element? where Value == [Element], Element: Sendable {
    state.withLock { $0.value.isEmpty ? nil : $0.value.removeFirst() }
  }
}
