import Glibc

/// SIGTERM, SIGINT and SIGHUP for commands that end when they are told to.
enum StopSignals {
  /// Whether a line's command waits for signals; all others end at once, as programs do.
  static func isWaitedFor(by arguments: [String]) -> Bool {
    switch arguments.first {
    case "run", "upstream", "replay", "torture", "torture-relay": true
    case "dead-letters": arguments.dropFirst().first == "replay"
    default: false
    }
  }

  /// Keeps the signals from ending the process, in this thread and all that it starts. For the main thread, before any other.
  static func block() {
    signal(SIGPIPE, SIG_IGN)
    var set = all
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for SIGTERM or SIGINT; a second one ends the process at once. SIGHUP says nothing.
  static func wait() async {
    await WorkerThread.run { while take() == SIGHUP {} }
    Task { await WorkerThread.run(endAtNext) }
  }

  @Sendable private static func endAtNext() {
    var number = SIGHUP
    while number == SIGHUP { number = take() }
    // 128 + the signal's number, as shells have it.
    _exit(128 + number)
  }

  private static func take() -> Int32 {
    var set = all
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  private static var all: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
    return set
  }
}
