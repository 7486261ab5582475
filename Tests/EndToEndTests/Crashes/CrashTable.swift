/// Every place where a relay changes a file: what it does to each kind.
enum CrashTable {
  /// By kind of file; `rename-to-KIND` where it becomes another, `?` where there is nothing left to do it to, so that only
  /// the place before it is reached.
  static let changes: [(kind: String, changes: String)] = [
    ("addresses", "create write sync rename"),
    ("archive-directory", "make sync"),
    ("archived", "unlink"),
    ("audit", "create write sync"),
    ("data-directory", "make sync"),
    ("filling", "create allocate write sync rename-to-segment rename-to-spare unlink"),
    ("ids", "create write sync unlink"),
    ("ids-directory", "make sync"),
    ("instance", "create write sync rename"),
    ("job", "create write sync rename unlink"),
    ("jobs-directory", "make sync remove"),
    ("journal", "create write sync rename-to-journal-aside rename unlink"),
    ("keys", "create write sync rename"),
    ("keys-aside", "create write sync rename"),
    ("letters", "create write sync unlink"),
    ("letters-copy", "create write sync rename-to-letters unlink?"),
    ("letters-directory", "make sync"),
    ("lines", "create write sync unlink"),
    ("lines-directory", "make sync remove"),
    ("lock", "create"),
    ("log-directory", "make sync"),
    ("manifest", "create write truncate sync"),
    ("open-archive", "create write truncate sync rename-to-archive-aside rename-to-archived"),
    ("open-salts", "create write truncate sync rename-to-salts"),
    ("parent-directory", "sync"),
    ("position", "create write sync rename unlink"),
    ("position-aside", "create write sync rename"), ("positions-directory", "make sync"),
    ("queue-directory", "make sync remove"),
    ("queue-filling", "create allocate write sync rename-to-queue-segment"),
    ("queue-log-directory", "make sync remove"),
    ("queue-position", "create write sync rename unlink"),
    ("queue-positions-directory", "make sync remove"),
    ("queue-segment", "write sync unlink"),
    ("removed-letters", "create write sync rename"),
    ("removed-sinks", "create write sync rename"),
    ("replayed", "create write sync rename unlink?"),
    ("replays-directory", "make sync"),
    ("retained", "create write sync rename"),
    ("salts", "unlink"),
    ("segment", "write sync rename-to-segment-aside rename-to-spare unlink"),
    ("spare", "write sync rename-to-segment unlink"),
    ("suppressed", "create write sync rename unlink?"),
    ("suppressed-aside", "create write sync rename"), ("sync-failed", "unlink"),
  ]

  /// What the program can do and no scene has it do, and why.
  static let unreachable: [(change: String, why: String)] = [
    ("sync-failed.create", "made when the system's own sync fails; RecoveryTests has a simulated disk do that"),
    ("queue-spare", "a queue keeps a spare segment after 4 MiB of events sent again; the same code as the log's"),
    ("queue-retained, queue-torn, queue-segment-aside", "the log's own code, in another directory"),
    (
      "lines.truncate",
      "a line file is cut back only after a death between its write and its commit: the next life's work"
    ),
    ("torn.create", "a torn write is set aside only after a death in the middle of one: the next life's work"),
  ]

  static let points: Set<String> = Set(
    changes.flatMap { kind, changes in
      changes.split(separator: " ").flatMap { change -> [String] in
        if change.hasSuffix("?") { return ["\(kind).\(change.dropLast()).before"] }
        let moments = change == "write" ? ["before", "during", "after"] : ["before", "after"]
        return moments.map { "\(kind).\(change).\($0)" }
      }
    })
}
