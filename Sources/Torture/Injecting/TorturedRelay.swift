import Configuration
import Glibc
import Relay
import Synchronization
import Threads

/// The relay as `event-relay torture` runs it: the relay itself, with faults between it and its disk and clock that the
/// parent orders over a socket.
///
/// The socket is the only way to order any: no variable of the environment and no file does, so that a relay that is run by
/// `event-relay run` can't be made to fail.
public struct TorturedRelay: Sendable {
  private let socket: Int32

  /// - Parameter socket: the number of the descriptor that the parent left open.
  /// - Throws: when it is none.
  public init(socket: Int32) throws(TortureError) {
    var kind: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(socket, SOL_SOCKET, SO_TYPE, &kind, &length) == 0 else {
      throw TortureError("descriptor \(socket) is no socket: this is for event-relay torture to run, not for users")
    }
    self.socket = socket
  }

  /// Runs the relay to its end.
  /// - Returns: its exit code.
  public func run(
    _ configuration: RelayConfiguration, _ environment: [String: String], _ source: ConfigurationSource
  ) async -> Int32 {
    let faults = FaultSwitch { [socket] fault in Self.say("did \(fault.rawValue)", to: socket) }
    // The clock is wrong from the beginning, as it is after a start of the machine.
    var lines = LineSocket(socket)
    if let first = lines.next() { ControlLine(first)?.apply(to: faults) }
    let rest = Mutex(lines)
    let failure = DetachedThread.start(name: "torture") {
      while let line = rest.withLock({ $0.next() }) { ControlLine(line)?.apply(to: faults) }
      // Nobody is left who would stop it.
      _exit(1)
    }
    guard failure == 0 else { return 1 }
    let daemon = Daemon(
      configuration: configuration, options: Daemon.Options(), environment: environment, source: source,
      surroundings: Surroundings(disk: InjectedDisk(faults: faults), files: faults.files, clock: faults.clock))
    return await daemon.run()
  }

  private static func say(_ text: String, to socket: Int32) {
    let line = Array("\(text)\n".utf8)
    // (A parent that doesn't read must not hold the relay up; it misses a word then, and asks again.)
    _ = send(socket, line, line.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL))
  }
}
