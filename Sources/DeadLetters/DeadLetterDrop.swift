import Glibc
import Observability
import Records

/// Removes letters from their files. Other letters keep their lines' numbers: a line that was dropped is empty.
public struct DeadLetterDrop {
  public struct Outcome: Sendable, Equatable {
    /// Letters that are gone.
    public var dropped = 0
    /// Letters that are being written just now, and were left.
    public var left = 0
  }

  static let temporaryEnding = ".rewriting"

  private let files: DeadLetterFiles
  private let filter: DeadLetterFilter
  private let committed: [String: FileMark]
  private let reader: DeadLetterReader
  private var result = Outcome()

  init(_ files: DeadLetterFiles, _ filter: DeadLetterFilter, committed: [String: FileMark]) {
    self.files = files
    var filter = filter
    filter.includesReplayed = true
    self.filter = filter
    self.committed = committed
    reader = DeadLetterReader(directory: files.directory, system: files.system)
  }

  mutating func run() throws(FileError) -> Outcome {
    for name in files.names() { try drop(in: name) }
    files.forgetSize()
    return result
  }

  /// What is dropped of a file, and what stays.
  private struct Found {
    var lines = LineSet()
    /// Those among them that had not been put back: the dead letters' own books know them.
    var waiting = 0
    var others = 0
  }

  private mutating func drop(in name: DeadLetterFileName) throws(FileError) {
    var found = Found()
    let filter = filter
    _ = try reader.forEach(
      in: name.description, DeadLetterFilter(includesReplayed: true), readsEvents: false
    ) { letter, _ in
      if filter.admits(letter) {
        found.lines.insert(letter.line)
        if !letter.isReplayed { found.waiting += 1 }
      } else {
        found.others += 1
      }
      return true
    }
    guard !found.lines.isEmpty else { return }
    // Behind the committed mark lie letters whose events are tried again after a crash.
    let facts = files.facts(of: name)
    let mark = committed.values.first { DeadLetterReader.lastComponent(of: $0.path) == name.description }
    guard mark == nil || mark?.inode != facts?.inode || mark?.length == facts?.length, files.leave(name) else {
      result.left += found.lines.count
      return
    }
    if found.others == 0 { try removeWhole(name, found) } else { try rewrite(name, found) }
    result.dropped += found.lines.count
    files.logger.info(
      "dead letters were dropped", about: files.path(name.description), ["letters": .integer(found.lines.count)])
  }

  private func intent(_ name: DeadLetterFileName, _ found: Found, witness: String) -> RemovedLetters.Intent {
    RemovedLetters.Intent(
      witness: witness, destination: name.destination, reason: .dropped, letters: found.waiting)
  }

  private func removeWhole(_ name: DeadLetterFileName, _ found: Found) throws(FileError) {
    let path = files.path(name.description)
    try files.remove(intent(name, found, witness: name.description)) { () throws(FileError) in
      try files.system.remove(path)
      try files.system.syncDirectory(files.directory)
    }
    try ReplayedLetters(directory: files.directory, system: files.system).remove(of: name.description)
  }

  /// Puts a copy without the dropped letters' bytes in the file's place.
  private func rewrite(_ name: DeadLetterFileName, _ found: Found) throws(FileError) {
    let path = files.path(name.description)
    let temporary = path + Self.temporaryEnding
    try files.system.remove(temporary)
    let (copy, _) = try RecordFile.create(temporary, on: files.system)
    var bytes: [UInt8] = []
    var written = 0
    var failure: FileError?
    func flush() -> Bool {
      do throws(FileError) {
        try bytes.withUnsafeBytes { bytes in Result { () throws(FileError) in try copy.append(bytes) } }.get()
        bytes.removeAll(keepingCapacity: true)
        return true
      } catch {
        failure = error
        return false
      }
    }
    try LineScanner.scan(path) { number, line in
      // (What is too long for a letter isn't handed out.)
      while written + 1 < number {
        bytes.append(UInt8(ascii: "\n"))
        written += 1
      }
      if found.lines.contains(number) { bytes.append(UInt8(ascii: "\n")) } else { bytes += line }
      written = number
      return bytes.count < 1 << 18 || flush()
    }
    if failure == nil { _ = flush() }
    if let failure { throw failure }
    try copy.sync()
    try files.remove(intent(name, found, witness: name.description + Self.temporaryEnding)) { () throws(FileError) in
      try files.system.move(temporary, to: path)
    }
  }
}
