#if CRASH_POINTS
  /// What each file of the relay is, told from its path: the one table of the data directory's and the sinks' files.
  public struct FileKinds: Sendable {
    /// Files below `data_dir`: a pattern of the path there (`*` is anything without a slash) and the kind. The first that fits counts.
    ///
    /// `.tmp`, behind which whole files are written, is taken off before.
    static let data: [(pattern: String, kind: String)] =
      [
        ("", "data-directory"), ("lock", "lock"), ("instance", "instance"), ("addresses.json", "addresses"),
        ("audit.ndjson", "audit"), ("keys", "keys"), ("keys.damaged-*", "keys-aside"),
        ("suppressed.json", "suppressed"), ("suppressed.json.damaged-*", "suppressed-aside"),
        ("removed-sinks.json", "removed-sinks"), ("log", "log-directory"), ("positions", "positions-directory"),
        ("positions/*.json", "position"), ("positions/*.json.damaged-*", "position-aside"),
        ("dedupe", "ids-directory"), ("dedupe/*.ids", "ids"), ("dead-letters", "letters-directory"),
        ("dead-letters/removed.json", "removed-letters"), ("dead-letters/*.ndjson", "letters"),
        ("dead-letters/*.ndjson.rewriting", "letters-copy"), ("dead-letters/*.ndjson.replayed", "replayed"),
        ("replays", "replays-directory"), ("replays/*", "queue-directory"), ("replays/*/log", "queue-log-directory"),
        ("replays/*/positions", "queue-positions-directory"), ("replays/*/positions/*.json", "queue-position"),
        ("replays/*/positions/*.json.damaged-*", "queue-position-aside"), ("replays/*/journal.json", "journal"),
        ("replays/*/journal.json.damaged", "journal-aside"), ("replays/*/jobs", "jobs-directory"),
        ("replays/*/jobs/*.json", "job"),
      ] + log.map { ("log/\($0.pattern)", $0.kind) } + log.map { ("replays/*/log/\($0.pattern)", "queue-\($0.kind)") }

    /// Files of a log's directory.
    static let log: [(pattern: String, kind: String)] = [
      ("segment-*.log", "segment"), ("spare-*.log", "spare"), ("filling-*", "filling"), ("torn-*.bin", "torn"),
      ("damaged-*.bin", "segment-aside"), ("retained", "retained"), ("sync-failed", "sync-failed"),
    ]

    static let archive: [(pattern: String, kind: String)] = [
      ("", "archive-directory"), ("manifest.ndjson", "manifest"), ("*.ndjson.gz.part", "open-archive"),
      ("*.salts.part", "open-salts"), ("*.ndjson.gz", "archived"), ("*.salts", "salts"), ("*.aside*", "archive-aside"),
    ]

    /// What lies below which directory; an absolute path each.
    private var roots: [(name: String, path: String)] = []

    /// - Parameter roots: `data=DIR:lines=DIR:archive=DIR`; each may be missing.
    public init(_ roots: String) {
      for root in roots.split(separator: ":") {
        let parts = root.split(separator: "=", maxSplits: 1)
        if parts.count == 2 { self.roots.append((String(parts[0]), String(parts[1]))) }
      }
    }

    /// The kind of file and what is done to it: `segment.write`, or `spare.rename-to-segment` where it becomes another kind.
    public func name(of operation: CrashPoint.Operation, _ path: String, to other: String? = nil) -> String {
      let kind = kind(of: path, isDirectory: operation.isAboutDirectory)
      guard let other else { return "\(kind).\(operation.word)" }
      let next = self.kind(of: other, isDirectory: operation.isAboutDirectory)
      return kind == next ? "\(kind).\(operation.word)" : "\(kind).\(operation.word)-to-\(next)"
    }

    /// `unknown:PATH` for what the table doesn't have.
    public func kind(of path: String, isDirectory: Bool) -> String {
      for root in roots {
        if root.path.hasPrefix(path == "/" ? path : "\(path)/") { return "parent-directory" }
        guard path == root.path || path.hasPrefix("\(root.path)/") else { continue }
        let rest = String(path.dropFirst(root.path.utf8.count + (path == root.path ? 0 : 1)))
        switch root.name {
        case "lines": return isDirectory ? "lines-directory" : "lines"
        case "archive": return Self.kind(rest, Self.archive) ?? "unknown:\(path)"
        default: return Self.kind(rest, Self.data) ?? "unknown:\(path)"
        }
      }
      return "unknown:\(path)"
    }

    private static func kind(_ path: String, _ table: [(pattern: String, kind: String)]) -> String? {
      let path = path.hasSuffix(".tmp") ? String(path.dropLast(4)) : path
      return table.first { fits(path, $0.pattern) }?.kind
    }

    /// Whether a path fits a pattern, part by part; `*` stands for anything.
    static func fits(_ path: String, _ pattern: String) -> Bool {
      let (parts, patterns) = (path.split(separator: "/"), pattern.split(separator: "/"))
      return parts.count == patterns.count
        && zip(parts, patterns).allSatisfy { part, pattern in fits(part, part: pattern) }
    }

    private static func fits(_ name: Substring, part pattern: Substring) -> Bool {
      guard let star = pattern.firstIndex(of: "*") else { return name == pattern }
      let (before, after) = (pattern[..<star], pattern[pattern.index(after: star)...])
      guard name.hasPrefix(before) else { return false }
      let rest = name.dropFirst(before.count)
      return rest.indices.contains { fits(rest[$0...], part: after) } || after.isEmpty
    }
  }
#endif
