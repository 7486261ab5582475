import Clocks

/// When a new file of the journal is begun, and which old ones go: decisions on facts.
///
/// A file goes as a whole, once nothing in it can matter: everything in it is older than the window, or the files behind it
/// hold as many ids as are remembered.
struct JournalPlan: Sendable {
  /// A file is left after this part of the window, or of the ids.
  static let parts = 4
  /// Records; a file is worth its while.
  static let recordsMin = 1024

  var window: Duration
  var maxIDs: Int

  func isFull(_ file: JournalFile, at now: Timestamp) -> Bool {
    guard file.records >= Self.recordsMin else { return false }
    if file.records >= max(Self.recordsMin, maxIDs / Self.parts) { return true }
    return file.oldest.map { now - $0 >= window / Self.parts } ?? false
  }

  /// - Parameter files: in the order of their numbers; the last one is written to and stays.
  func unneeded(_ files: [JournalFile], at now: Timestamp) -> [JournalFile] {
    var behind = files.last?.stored ?? 0
    var gone: [JournalFile] = []
    for file in files.dropLast().reversed() {
      let isOld = file.newest.map { now - $0 > window } ?? true
      if isOld || behind >= maxIDs { gone.append(file) }
      behind += file.stored
    }
    return gone.reversed()
  }
}
