import Glibc

/// Starts this program again as a child.
enum ChildStart {
  /// Under which number the child has its end of the control socket.
  static let controlDescriptor: Int32 = 3

  /// - Parameters:
  ///   - arguments: without the program's own name.
  ///   - control: the child's end of the control socket.
  ///   - log: where what it writes to its standard output and error is appended.
  static func start(_ arguments: [String], control: Int32, log: String) throws(TortureError) -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    posix_spawn_file_actions_adddup2(&actions, control, controlDescriptor)
    // Nothing else of the parent's lives on in the child: a connection it holds would never be seen closed.
    for descriptor in controlDescriptor + 1..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A group of its own: Ctrl-C is for the parent alone, which stops the child when it is time.
    posix_spawnattr_setflags(
      &attributes, Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    posix_spawnattr_setpgroup(&attributes, 0)
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var usual = sigset_t()
    sigemptyset(&usual)
    sigaddset(&usual, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &usual)
    let argv = (["event-relay"] + arguments).map { strdup($0) } + [nil]
    defer { for text in argv { free(text) } }
    var child: pid_t = 0
    let code = posix_spawn(&child, "/proc/self/exe", &actions, &attributes, argv, environ)
    guard code == 0 else { throw TortureError("can't start the relay: \(String(cString: strerror(code)))") }
    return child
  }

  /// How a child ended: its exit code, or 128 + the signal's number; nil while it runs.
  static func end(of child: pid_t, waits: Bool) -> Int32? {
    var status: Int32 = 0
    while true {
      let found = waitpid(child, &status, waits ? 0 : WNOHANG)
      if found < 0, errno == EINTR { continue }
      guard found == child else { return nil }
      let signal = status & 0x7F
      return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
    }
  }
}
