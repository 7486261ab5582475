import EventLog
import Records

/// What the files of dead letters hold of one destination, counted line by line. Reads only; a relay may run meanwhile.
public struct DeadLetterBooks: Sendable, Equatable {
  /// Lines that are letters and were not put back, by what they were given up for.
  public private(set) var waiting = Tally()
  /// Lines that were put back.
  public private(set) var replayed = 0
  /// Letters that went without being sent.
  public private(set) var removed = 0
  /// Lines that are no letters of this destination: the first few as `FILE:LINE`, and how many they are.
  public private(set) var strange: [String] = []
  public private(set) var strangeCount = 0
  /// What is wrong with the file that the destination's position names, a sentence; nil when nothing is.
  public private(set) var fault: String?

  static let strangeMax = 5

  /// - Parameter committed: how far the file that is written to belongs to what the destination has settled: what lies
  ///   behind is tried again after a crash, and doesn't count.
  public static func read(
    _ directory: String, destination: String, committed: FileMark?, system: FileSystem = .system
  ) throws(FileError) -> DeadLetterBooks {
    var books = DeadLetterBooks()
    let reader = DeadLetterReader(directory: directory, system: system)
    for file in try reader.files() where isFile(file, of: destination) {
      try books.count(file, destination, end: try books.end(of: file, committed, directory, system), reader)
    }
    let counts = RemovedLetters.read(directory, system, mends: false).counts
    books.removed = (counts[destination] ?? [:]).values.reduce(0, +)
    return books
  }

  private static func isFile(_ name: String, of destination: String) -> Bool {
    guard let parsed = DeadLetterFileName(name) else { return false }
    return parsed.destination == DeadLetterFileName(begun: parsed.begun, destination: destination).destination
  }

  /// Where a file ends that counts; nil: all of it does.
  private mutating func end(
    of file: String, _ committed: FileMark?, _ directory: String, _ system: FileSystem
  ) throws(FileError) -> Int? {
    guard var mark = committed, DeadLetterReader.lastComponent(of: mark.path) == file else { return nil }
    // The directory may have moved since.
    mark.path = "\(directory)/\(file)"
    switch try mark.look(on: system) {
    case .whole: return mark.length
    // A copy without the letters that were dropped.
    case .moved: return nil
    case .shortened(let length):
      fault = "\(mark.path) has \(length) bytes, and \(mark.length) were written and counted: it was cut"
    case .changed: fault = "\(mark.path) ends otherwise than it was written and counted"
    }
    return mark.length
  }

  private mutating func count(
    _ file: String, _ destination: String, end: Int?, _ reader: DeadLetterReader
  ) throws(FileError) {
    let put = try ReplayedLetters(directory: reader.directory, system: .system).lines(of: file)
    var bytes = 0
    var found = self
    do throws(FileError) {
      try LineScanner.scan("\(reader.directory)/\(file)") { number, line in
        bytes += line.count
        if let end, bytes > end { return false }
        // A letter that was dropped is an empty line.
        guard line.count > 1 else { return true }
        let letter = DeadLetterSummary(line, file: file, line: number, readsEvent: false)
        guard let letter, letter.destination == destination, let reason = Outcome(rawValue: letter.reason),
          reason.isDeadLetter
        else {
          found.addStrange(file, number)
          return true
        }
        if put.contains(number) { found.replayed += 1 } else { found.waiting.add(reason) }
        return true
      }
    } catch {
      // Removed meanwhile, as old files are.
      guard error.isMissing else { throw error }
    }
    self = found
  }

  private mutating func addStrange(_ file: String, _ line: Int) {
    strangeCount += 1
    if strange.count < Self.strangeMax { strange.append("\(file):\(line)") }
  }
}
