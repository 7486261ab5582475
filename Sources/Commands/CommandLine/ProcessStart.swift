import Glibc

/// What a process must see to before anything else.
public enum ProcessStart {
  /// The line's words, without the program's own name.
  ///
  /// Swift looks for them below the environment in memory, and finds none where a preloaded library has moved that; then
  /// the system knows them still.
  public static var arguments: [String] {
    if CommandLine.argc > 0 { return Array(CommandLine.arguments.dropFirst()) }
    let descriptor = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return words(inCommandLine: bytes)
  }

  /// The words, each ended by a zero byte, without the first.
  static func words(inCommandLine bytes: [UInt8]) -> [String] {
    var words = bytes.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    if words.last?.isEmpty == true { words.removeLast() }
    return Array(words.dropFirst())
  }

  /// Opens what of standard input, output and error is closed, so that no file of ours gets its number, and with it what is
  /// printed.
  ///
  /// Each is opened the wrong way round: who reads or writes there still hears that it can't be.
  public static func openStandardFiles() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
      // The lowest free number is given: this one, since those below are open by now.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
