import Clocks
import Records

/// When a line file ends and which file comes after it: facts in, a decision out.
///
/// - An event lies in the file that its own `received_at` names, by the pattern; a clock that jumps back keeps the newest
///   name so far, over restarts too.
/// - A file ends when the pattern's text changes, when a slot of `every` ends (slots are counted from
///   1970-01-01T00:00:00Z, so that an hour's begin on the hour and a day's at midnight UTC), and before the line that
///   would make it larger than `size` (a single larger line has a file of its own).
/// - When the pattern gives the next file the same name, or the name is taken, the file gets a number: `12.ndjson`,
///   `12.1.ndjson`, `12.2.ndjson` …; the highest is the newest.
struct RotationPolicy: Sendable, Equatable {
  var pattern: PathPattern
  /// Bytes; 0 or less: no limit.
  var size: Int
  /// 0 or less: no slots.
  var every: Duration

  /// Where the files of a sink, or of one app of it, have got to.
  struct State: Sendable, Equatable {
    /// The newest `received_at` so far: what names files.
    var newest: Timestamp
    /// The name of the file written last, without its number; nil before the first.
    var path: String?
    var number: Int
    /// The file written last is not to be continued: the next one needs another name.
    var isEnded: Bool

    static let beginning = State(newest: Timestamp(milliseconds: .min), path: nil, number: 0, isEnded: true)
  }

  /// When the file of a moment ends; the latest moment there is when it never does.
  func end(ofFileAt moment: Timestamp) -> Timestamp {
    let never = Timestamp(milliseconds: .max)
    let length = every.milliseconds
    let named = pattern.nextChange(after: moment) ?? never
    guard length > 0, moment.milliseconds <= Int64.max - length else { return named }
    let slot = moment.milliseconds - moment.milliseconds.modulo(length) + length
    return min(named, Timestamp(milliseconds: slot))
  }

  /// The file to begin when none is open, or the open one has ended.
  func next(after state: State, app: String = "") -> (path: String, from: Int) {
    let path = pattern.path(at: state.newest, app: app)
    guard path == state.path else { return (path, 0) }
    return (path, state.isEnded ? state.number + 1 : state.number)
  }

  /// Whether a line still goes into a file of so many bytes.
  func fits(line bytes: Int, into length: Int) -> Bool {
    size <= 0 || length == 0 || length + bytes <= size
  }

  /// Whether the file last written is the one to go on with.
  func continues(_ path: String, _ state: State, app: String = "") -> Bool {
    guard let base = state.path, !state.isEnded else { return false }
    return base == pattern.path(at: state.newest, app: app) && RecordFile.numbered(base, state.number) == path
  }
}
