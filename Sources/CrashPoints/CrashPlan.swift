#if CRASH_POINTS
  import Glibc
  import Synchronization

  /// Where this process is to die, and where it notes what it reaches; told by its environment.
  ///
  /// - `EVENT_RELAY_CRASH_ROOTS`: `data=DIR:lines=DIR:archive=DIR`, the directories whose files are named; without it there
  ///   is no plan.
  /// - `EVENT_RELAY_CRASH_RECORD`: a file that gets a line for each place that is reached.
  /// - `EVENT_RELAY_CRASH_AT`: the place to die at: `segment.write.before`, or `segment.write.before#3` the third time.
  /// - `EVENT_RELAY_CRASH_EAGER`: set to anything, the log does soon and with little what it does late and with much.
  final class CrashPlan: Sendable {
    static let current = CrashPlan { name in getenv("EVENT_RELAY_CRASH_\(name)").map { String(cString: $0) } }

    private let kinds: FileKinds
    private let end: CrashEnd?
    let isEager: Bool
    /// The open record; -1 without one.
    private let record: Int32
    private let seen = Mutex<[String: Int]>([:])

    init?(_ variable: (String) -> String?) {
      guard let roots = variable("ROOTS") else { return nil }
      kinds = FileKinds(roots)
      isEager = variable("EAGER") != nil
      end = variable("AT").map { CrashEnd($0) }
      record = variable("RECORD").map { open($0, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600) } ?? -1
    }

    /// Notes a place, and dies there when it is the one; what is to be done halfway before that, is.
    func reach(
      _ moment: CrashPoint.Moment, _ operation: CrashPoint.Operation, _ path: String, to other: String? = nil,
      half: () -> Void = {}
    ) {
      let name = "\(kinds.name(of: operation, path, to: other)).\(moment.rawValue)"
      seen.withLock { seen in
        seen[name, default: 0] += 1
        let line = Array("\(name)\n".utf8)
        if record >= 0 { _ = write(record, line, line.count) }
        guard let end, end.point == name, end.time == seen[name] else { return }
        half()
        die()
      }
    }

    private func die() {
      kill(getpid(), SIGKILL)
      // It comes in a moment; nothing more is done until then.
      while true { pause() }
    }
  }

  /// A place to die at, and which time.
  struct CrashEnd: Equatable {
    var point: String
    var time = 1
  }

  extension CrashEnd {
    init(_ text: String) {
      let parts = text.split(separator: "#")
      self.init(
        point: parts.first.map(String.init) ?? "", time: parts.count > 1 ? Int(parts[1]) ?? 1 : 1)
    }
  }
#endif
