import CMicrohttpd
import Glibc
import Synchronization

/// A listener's thread, as others see it.
final class RunningListener: Sendable {
  let address: ListenAddress
  let mailbox: Mailbox

  private struct State {
    var hasEnded = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  /// What the thread takes over: unchecked because it is handed over, and nobody else keeps it.
  private struct Work: @unchecked Sendable {
    let listener: Listener
    let running: RunningListener
  }

  init(_ address: ListenAddress, _ listener: Listener) throws(HTTPServerError) {
    self.address = address
    mailbox = listener.mailbox
    let work = Unmanaged.passRetained(Box(Work(listener: listener, running: self)))
    var thread = pthread_t()
    let status = pthread_create(&thread, nil, { RunningListener.main($0) }, work.toOpaque())
    guard status == 0 else {
      work.release()
      throw HTTPServerError(address, .other, "no thread to be had (\(String(cString: strerror(status))))")
    }
    pthread_detach(thread)
  }

  private final class Box {
    let work: Work
    init(_ work: Work) { self.work = work }
  }

  private static func main(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Signals are for the threads that wait for them.
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    mhd_name_thread("http")
    guard let context else { return nil }
    let running: RunningListener
    do {
      let work = Unmanaged<Box>.fromOpaque(context).takeRetainedValue().work
      running = work.running
      work.listener.run()
    }
    running.ended()
    return nil
  }

  private func ended() {
    let waiting = state.withLock { state in
      state.hasEnded = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns when the thread has closed everything.
  func end() async {
    await withCheckedContinuation { continuation in
      let hasEnded = state.withLock { state in
        if !state.hasEnded { state.waiting.append(continuation) }
        return state.hasEnded
      }
      if hasEnded { continuation.resume() }
    }
  }
}
