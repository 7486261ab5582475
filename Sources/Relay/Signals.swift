import Glibc

/// The signals the relay answers to, as a stream; a thread of its own waits for them.
enum Signals {
  enum Wish: Sendable {
    case stop, reload
  }

  /// Blocks the signals in this thread, and so in all that it starts: to be called before any other thread is made.
  static func block() {
    signal(SIGPIPE, SIG_IGN)
    var set = handled
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// What comes in from now on. The second wish to stop ends the process at once.
  static func stream() -> AsyncStream<Wish> {
    let (stream, continuation) = AsyncStream.makeStream(of: Wish.self)
    let box = Unmanaged.passRetained(Box(continuation))
    var thread = pthread_t()
    let failed = pthread_create(
      &thread, nil,
      { argument in
        let box = Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue()
        Signals.wait(box.continuation)
        return nil
      }, box.toOpaque())
    precondition(failed == 0, "no thread for signals")
    pthread_detach(thread)
    return stream
  }

  private final class Box: Sendable {
    let continuation: AsyncStream<Wish>.Continuation
    init(_ continuation: AsyncStream<Wish>.Continuation) { self.continuation = continuation }
  }

  private static func wait(_ continuation: AsyncStream<Wish>.Continuation) {
    var isStopping = false
    var set = handled
    while true {
      var number: Int32 = 0
      guard sigwait(&set, &number) == 0 else { continue }
      if number == SIGHUP {
        continuation.yield(.reload)
      } else if isStopping {
        // 128 + the signal's number, as shells have it.
        _exit(128 + number)
      } else {
        isStopping = true
        continuation.yield(.stop)
      }
    }
  }

  private static var handled: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
    return set
  }
}
