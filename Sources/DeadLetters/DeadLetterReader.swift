import Dialects
import Glibc
import Records

/// Reads dead letters, whether the relay runs or not: file by file, line by line, in bounded memory.
///
/// A last line without its end is being written, or was when the power went: it doesn't count. Lines that are no dead
/// letters are skipped.
public struct DeadLetterReader: Sendable {
  /// Which letter `show` means.
  public enum Reference: Sendable, Equatable {
    case eventID(String)
    case place(file: String, line: Int)

    /// `name.ndjson:12` is a place, anything else an event's id.
    public init(_ text: String) {
      if let colon = text.lastIndex(of: ":"), let line = Int(text[text.index(after: colon)...]), line > 0,
        text[..<colon].hasSuffix(DeadLetterFileName.ending)
      {
        self = .place(file: DeadLetterReader.lastComponent(of: String(text[..<colon])), line: line)
      } else {
        self = .eventID(text)
      }
    }
  }

  public let directory: String
  private let system: FileSystem

  public init(directory: String, system: FileSystem = .system) {
    self.directory = directory
    self.system = system
  }

  /// The names of the files, the oldest first.
  public func files() throws(FileError) -> [String] {
    try system.list(directory).filter { $0.hasSuffix(DeadLetterFileName.ending) }.sorted()
  }

  /// Visits the letters the filter admits, oldest file first, until the visitor returns false.
  ///
  /// - Parameters:
  ///   - readsEvents: whether each event is parsed for its id.
  ///   - visit: gets the summary and the line with its line feed; the bytes are good until it returns.
  public func forEach(
    _ filter: DeadLetterFilter = DeadLetterFilter(), readsEvents: Bool = true,
    _ visit: (DeadLetterSummary, UnsafeRawBufferPointer) -> Bool
  ) throws(FileError) {
    for name in try files() {
      guard try forEach(in: name, filter, readsEvents: readsEvents, visit) else { return }
    }
  }

  /// Visits the letters of one file that the filter admits, until the visitor returns false.
  ///
  /// - Parameters:
  ///   - line: the first line to look at, from 1.
  ///   - end: what lies behind so many bytes of the file isn't looked at; nil: all of it is.
  /// - Returns: false when the visitor ended it.
  public func forEach(
    in name: String, from line: Int = 1, end: Int? = nil, _ filter: DeadLetterFilter, readsEvents: Bool = true,
    _ visit: (DeadLetterSummary, UnsafeRawBufferPointer) -> Bool
  ) throws(FileError) -> Bool {
    let replayed = try ReplayedLetters(directory: directory, system: system).lines(of: name)
    var goesOn = true
    var bytes = 0
    try lines(of: name) { number, letterLine in
      bytes += letterLine.count
      if let end, bytes > end { return false }
      guard number >= line,
        var letter = DeadLetterSummary(letterLine, file: name, line: number, readsEvent: readsEvents)
      else { return true }
      letter.isReplayed = replayed.contains(number)
      guard filter.admits(letter) else { return true }
      goesOn = visit(letter, letterLine)
      return goesOn
    }
    return goesOn
  }

  /// One letter's line, without its line feed; nil when there is none. By an event's id: the last one given up.
  public func show(_ reference: Reference) throws(FileError) -> (letter: DeadLetterSummary, line: [UInt8])? {
    var found: (DeadLetterSummary, [UInt8])?
    switch reference {
    case .eventID(let id):
      guard let wanted = SoughtID(id) else { return nil }
      try forEach(DeadLetterFilter(includesReplayed: true)) { letter, line in
        if letter.eventID.map(wanted.isID) == true { found = (letter, Array(line.dropLast())) }
        return true
      }
    case .place(let file, let line):
      guard try files().contains(file) else { return nil }
      try lines(of: file) { number, bytes in
        guard number == line else { return true }
        found = DeadLetterSummary(bytes, file: file, line: number, readsEvent: true).map {
          ($0, Array(bytes.dropLast()))
        }
        return false
      }
    }
    return found
  }

  /// Hands out the raw lines, each with its line feed, until the taker returns false.
  public func export(
    _ filter: DeadLetterFilter = DeadLetterFilter(), _ take: (UnsafeRawBufferPointer) -> Bool
  ) throws(FileError) {
    try forEach(filter, readsEvents: false) { _, line in take(line) }
  }

  private func lines(of name: String, _ visit: (Int, UnsafeRawBufferPointer) -> Bool) throws(FileError) {
    let path = "\(directory)/\(name)"
    do throws(FileError) {
      try LineScanner.scan(path, visit)
    } catch  where error.code == ENOENT {
      // Removed meanwhile, as old files are.
    }
  }

  static func lastComponent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }

  /// How many letters of a file are neither put back nor dropped; 0 when it can't be read.
  func countLetters(in name: String) -> Int {
    let replayed = (try? ReplayedLetters(directory: directory, system: system).lines(of: name)) ?? LineSet()
    var count = 0
    try? lines(of: name) { number, line in
      if line.count > 1, !replayed.contains(number) { count += 1 }
      return true
    }
    return count
  }
}
