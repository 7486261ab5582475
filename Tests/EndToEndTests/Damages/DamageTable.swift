/// What becomes of each kind of file by each damage.
enum DamageTable {
  enum Outcome: Sendable, Equatable {
    /// The relay starts, and says so (nothing, where the words are empty).
    case starts(String)
    /// It doesn't, and says why, with the file's name.
    case refuses(String)
  }

  struct Row: Sendable {
    var kind: String
    /// Where it is; `*` is anything, a minus sign before it means the last one.
    var file: String
    /// What bit, cut and zeros come to, a deletion, and something else in its place.
    var changed, gone, replaced: Outcome
    /// Where one of them comes to something else.
    var others: [Damage: Outcome] = [:]
    var mayLose = false
    /// The byte that is hit; nil: one in the middle.
    var place: Int?
    /// There is nothing in it that could change.
    var isEmpty = false
    var damages: [Damage] { Damage.allCases.filter { !isEmpty || ![.bit, .cut, .zeroes].contains($0) } }
    /// It is known by more than its name and bytes: a copy won't do.
    var needsOriginal = false

    func outcome(of damage: Damage) -> Outcome {
      if let other = others[damage] { return other }
      switch damage {
      case .bit, .cut, .zeroes: return changed
      case .gone: return gone
      case .directory, .nowhere, .elsewhere, .full, .pipe: return replaced
      }
    }
  }

  static let quiet = Outcome.starts("")

  private static let begunAgain = Outcome.starts("positions are damaged")
  private static let noPositions = Outcome.refuses("the positions of destination")
  /// The advice where a file is in whose place something else is.
  private static let moveAway = Outcome.refuses("move")

  static let rows: [Row] = log + positions + books + deadLetters + replays + sinks

  private static let log = [
    // The first frame has an event that waits.
    Row(
      kind: "segment, finished", file: "data/log/segment-*.log", changed: .starts("first_lost="),
      gone: .starts("counted as lost"), replaced: moveAway, mayLose: true, place: 700),
    Row(
      kind: "segment, last", file: "-data/log/segment-*.log", changed: .starts("first_lost="),
      gone: .starts("counted as lost"), replaced: moveAway, others: [.cut: .starts("counted as lost")], mayLose: true),
    Row(kind: "torn copy", file: "data/log/torn-*.bin", changed: quiet, gone: quiet, replaced: quiet),
    Row(kind: "damaged segment's copy", file: "data/log/damaged-*.bin", changed: quiet, gone: quiet, replaced: quiet),
  ]

  private static let positions = ["upstream", "raw", "audit", "hook"].map { name in
    Row(
      kind: "position of \(name)", file: "data/positions/\(name).json", changed: begunAgain, gone: quiet,
      replaced: noPositions)
  }

  private static let books = [
    // A lock on a pipe is as good as one on a file.
    Row(
      kind: "lock", file: "data/lock", changed: quiet, gone: quiet, replaced: moveAway, others: [.pipe: quiet],
      isEmpty: true),
    Row(
      kind: "instance", file: "data/instance", changed: .refuses("put it back from a backup"),
      gone: .starts("the archive of another relay"), replaced: moveAway),
    Row(
      kind: "keys", file: "data/keys", changed: .starts("keys was damaged"), gone: quiet, replaced: moveAway),
    Row(
      kind: "suppressed", file: "data/suppressed.json", changed: .starts("begin anew"), gone: quiet, replaced: moveAway),
    Row(
      kind: "addresses", file: "data/addresses.json", changed: quiet, gone: quiet, replaced: quiet,
      others: [.directory: .starts("cannot write the file of addresses")]),
    Row(kind: "audit trail", file: "data/audit.ndjson", changed: quiet, gone: quiet, replaced: moveAway),
    Row(kind: "ids", file: "data/dedupe/*.ids", changed: quiet, gone: quiet, replaced: moveAway),
  ]

  private static let deadLetters = [
    Row(
      kind: "dead letters", file: "data/dead-letters/*.ndjson", changed: quiet, gone: quiet, replaced: quiet,
      needsOriginal: true),
    Row(kind: "replayed letters", file: "data/dead-letters/*.replayed", changed: quiet, gone: quiet, replaced: quiet),
  ]

  private static let replays = [
    Row(
      kind: "queue segment", file: "data/replays/raw/log/segment-*.log", changed: quiet, gone: quiet,
      replaced: moveAway),
    // It is written anew from the destination's own.
    Row(
      kind: "queue position", file: "data/replays/raw/positions/queue.json", changed: quiet, gone: quiet,
      replaced: quiet, others: [.directory: moveAway]),
    Row(
      kind: "journal", file: "data/replays/raw/journal.json", changed: quiet, gone: quiet, replaced: moveAway),
    Row(kind: "job", file: "data/replays/raw/jobs/*.json", changed: quiet, gone: quiet, replaced: quiet),
  ]

  private static let sinks = [
    Row(
      kind: "line file", file: "events/*.ndjson", changed: quiet, gone: quiet, replaced: quiet, needsOriginal: true),
    Row(kind: "manifest", file: "archive/manifest.ndjson", changed: quiet, gone: quiet, replaced: quiet),
    Row(kind: "archived lines", file: "archive/*.ndjson.gz", changed: quiet, gone: quiet, replaced: quiet),
    Row(kind: "salts", file: "archive/*.salts", changed: quiet, gone: quiet, replaced: quiet),
  ]
}
