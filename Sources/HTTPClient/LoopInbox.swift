/// What is asked of the loop.
enum LoopMessage: Sendable {
  case job(UnownedJob)
  case send(Transfer)
  case cancel(Transfer)
  case sleep(LoopTimer)
  case wake(LoopTimer)
  case stop(UnsafeContinuation<Void, Never>)
}

/// What other threads have for the loop, and whether it must be woken for it.
struct LoopInbox {
  enum Phase: Sendable {
    /// No thread yet.
    case notStarted
    case running
    /// No thread any more; one is started for whatever comes.
    case stopped
  }

  /// What whoever brought a message must do.
  enum Next: Sendable {
    case nothing, wake, startThread
  }

  var phase = Phase.notStarted
  /// The thread waits, or is about to, and nobody has woken it yet.
  var isAsleep = false
  private(set) var messages: [LoopMessage] = []

  /// Takes a message. Of many that come while the loop sleeps only the first wakes it.
  mutating func take(_ message: LoopMessage) -> Next {
    messages.append(message)
    switch phase {
    case .running:
      guard isAsleep else { return .nothing }
      isAsleep = false
      return .wake
    case .stopped:
      phase = .running
      return .startThread
    case .notStarted:
      // Nothing has been begun, so whoever ends it needn't wait for `start`.
      guard case .stop = message else { return .nothing }
      phase = .running
      return .startThread
    }
  }

  /// Says that the loop is going to wait; false when there is something to do.
  mutating func fallAsleep() -> Bool {
    isAsleep = messages.isEmpty
    return isAsleep
  }

  /// Hands everything to the loop, and takes its empty list in exchange.
  mutating func empty(into core: LoopCore) {
    if !messages.isEmpty { swap(&messages, &core.arrived) }
  }
}
