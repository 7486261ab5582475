import CMicrohttpd
import Glibc
import Synchronization

/// What other threads tell a listener's thread. Wakes it only when it sleeps.
final class Mailbox: Sendable {
  enum Command: Sendable {
    case stopAccepting
    /// How long connections that are opened from now on may take.
    case limit(ConnectionTimer.Limits)
    /// What TLS is spoken with on connections that are opened from now on.
    case identify(TLSIdentity)
    /// Has connections make way for others that came to another listener, as long as there are as many as there may be.
    case makeWay(places: Int)
    /// Ends when no connection is left, at the latest at this moment of the monotonic clock.
    case stop(deadline: UInt64)
  }

  fileprivate struct State {
    var answered: [Exchange] = []
    var commands: [Command] = []
    var isSleeping = false
    var isClosed = false
  }

  private let state = Mutex(State())
  /// Becomes readable at every wake-up; never read, since it is waited for by edges.
  let descriptor: Int32

  init() { descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }

  deinit { _ = Glibc.close(descriptor) }

  /// Tells that an exchange whose connection sleeps has been answered.
  func post(_ exchange: Exchange) {
    let wakes = state.withLock { state in
      guard !state.isClosed else { return false }
      state.answered.append(exchange)
      return state.wake()
    }
    if wakes { wake() }
  }

  func post(_ command: Command) {
    let wakes = state.withLock { state in
      guard !state.isClosed else { return false }
      state.commands.append(command)
      return state.wake()
    }
    if wakes { wake() }
  }

  private func wake() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  /// Takes what is there. `answered` must be empty and lends its memory.
  func take(answered: inout [Exchange]) -> [Command] {
    state.withLock { state in
      state.isSleeping = false
      swap(&state.answered, &answered)
      guard !state.commands.isEmpty else { return [] }
      defer { state.commands = [] }
      return state.commands
    }
  }

  /// Says that the thread will sleep; false when there is something to do first.
  func sleeps() -> Bool {
    state.withLock { state in
      guard state.answered.isEmpty, state.commands.isEmpty else { return false }
      state.isSleeping = true
      return true
    }
  }

  /// Nobody takes anything any more.
  func close() {
    state.withLock { state in
      state.isClosed = true
      state.answered = []
      state.commands = []
    }
  }
}

extension Mailbox.State {
  /// Whether the thread has to be woken; only the first one asked says so.
  fileprivate mutating func wake() -> Bool {
    defer { isSleeping = false }
    return isSleeping
  }
}
