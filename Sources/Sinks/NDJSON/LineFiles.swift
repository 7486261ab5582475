import Clocks
import Records

/// The files of one app, or of all apps where the pattern names none: which one is written to, and which came before it
/// and are not settled yet.
///
/// Not thread-safe; lives on the sink's thread.
final class LineFiles {
  /// Empty for all apps.
  let app: String
  private(set) var state: RotationPolicy.State
  /// The file that is written to.
  private(set) var current: LineFile?
  /// When that ends, by the newest `received_at`.
  private(set) var end = Timestamp(milliseconds: .min)
  /// Files that ended since the last settling, closed.
  private(set) var left: [LineFile] = []
  /// When it was last written to, in batches.
  var lastUse = 0
  /// What was so at the last settling, and is so again when what came since is taken back.
  private var before: (state: RotationPolicy.State, file: LineFile?, end: Timestamp)

  init(app: String, state: RotationPolicy.State = .beginning) {
    self.app = app
    self.state = state
    before = (state, nil, end)
  }

  /// Takes up the file to go on with, as what is settled.
  func take(_ file: LineFile, end: Timestamp) {
    current = file
    self.end = end
    before = (state, file, end)
  }

  /// Nothing but another name comes next.
  func endState() {
    state.isEnded = true
    before.state.isEnded = true
  }

  /// What goes into the record: the settled state, and every file with the length that counts.
  var entry: LinePosition.Files {
    let files = (before.file.map { [$0] } ?? []) + (left + (current.map { [$0] } ?? [])).filter { $0 !== before.file }
    return LinePosition.Files(app: app, state: before.state, files: files.map(\.settled))
  }

  /// Holds lines that are not settled, or has changed files since.
  var isDirty: Bool { !left.isEmpty || current !== before.file || current?.isDirty == true }

  /// Moves the time that names files on; tells whether it leaves the current file behind.
  func mustBegin(_ receivedAt: Timestamp) -> Bool {
    if receivedAt > state.newest { state.newest = receivedAt }
    return current == nil || max(receivedAt, state.newest) >= end
  }

  /// The current file is followed by another one.
  func begin(_ file: LineFile, path: String, number: Int, end: Timestamp) {
    state = RotationPolicy.State(newest: state.newest, path: path, number: number, isEnded: false)
    current = file
    self.end = end
  }

  /// Nothing more goes into the current file.
  /// - Parameter ended: its name isn't to be used again.
  func leave(ended: Bool) throws(FileError) {
    if let current {
      try current.close()
      if current.isDirty || current === before.file { left.append(current) }
    }
    forgetCurrent(ended: ended)
  }

  /// The current file is not to be written to any more, whatever is in it.
  func forgetCurrent(ended: Bool) {
    current = nil
    if ended { state.isEnded = true }
  }

  /// All that was written is synced, and acknowledged by the caller.
  func settle() {
    for file in left { file.settle() }
    left = []
    current?.settle()
    before = (state, current, end)
  }

  /// Takes back everything since the last settling, and leaves what can't be gone on with.
  func rollBack(on system: FileSystem) throws(FileError) {
    for file in left + [current].compactMap({ $0 }) where file !== before.file {
      _ = try file.rollBack(on: system)
    }
    // (Files begun since are empty now, and are taken when their names are wanted again.)
    left = []
    (state, current, end) = before
    guard let current else { return }
    let isFailed = current.isFailed
    let place = try current.rollBack(on: system)
    guard isFailed || place != .unchanged else { return }
    self.current = nil
    if isFailed || place == .shortened || place == .lengthened { state.isEnded = true }
    before = (state, nil, end)
  }
}
