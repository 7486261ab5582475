import Clocks
import EventLog
import Observability
import Records

/// The files of dead letters: which is written to, and which must go.
///
/// Not thread-safe; ``DeadLetterStore`` locks.
final class DeadLetterFiles {
  /// A file that a destination writes to.
  private struct Open {
    let file: RecordFile
    let name: DeadLetterFileName
  }

  let directory: String
  var limits: DeadLetterLimits
  private let clock: WallClock
  let logger: Logger
  let system: FileSystem
  /// From when on files may go for their age; nil before they were looked at.
  private var agesFrom: ContinuousClock.Instant?
  private var open: [String: Open] = [:]
  /// Destinations that are about to append to the file they prepared: it must stay what it is.
  private var prepared: Set<String> = []
  /// Bytes of all files; nil before they were counted.
  private var size: Int?
  /// Letters that went without being sent.
  private(set) var removed: RemovedLetters

  init(directory: String, limits: DeadLetterLimits, clock: WallClock, logger: Logger, system: FileSystem) {
    self.directory = directory
    self.limits = limits
    self.clock = clock
    self.logger = logger
    self.system = system
    removed = RemovedLetters.read(directory, system, logger)
  }

  func tail(behind mark: FileMark) throws(FileError) -> RecordTail {
    try RecordTail.read(behind: moved(mark), on: system)
  }

  /// The directory may have moved since.
  private func moved(_ mark: FileMark) -> FileMark {
    var mark = mark
    mark.path = path(DeadLetterReader.lastComponent(of: mark.path))
    return mark
  }

  func recover(_ destination: String, _ mark: FileMark, keepsLetters: Bool) throws(FileError) {
    var mark = moved(mark)
    if keepsLetters {
      let tail = try tail(behind: mark)
      logger.warning(
        "dead letters stand behind the position that was put back, and their events are not owed any more: they stay",
        about: mark.path, ["letters": .integer(tail.sequences.count)])
      mark = tail.mark
    }
    switch try RecordFile.reopen(mark, on: system) {
    case .continued(let file, let cut):
      if cut > 0 {
        logger.info("cut off dead letters whose events are tried again", about: mark.path, ["bytes": .integer(cut)])
      }
      guard let name = DeadLetterFileName(DeadLetterReader.lastComponent(of: mark.path)) else { return }
      open[destination] = Open(file: file, name: name)
    case .renamed(let path, _):
      logger.warning("a file of dead letters was renamed; a new one is begun", about: mark.path, ["now": .text(path)])
    case .changed:
      logger.warning(
        "a file of dead letters was changed by somebody else; it is left alone, a new one is begun", about: mark.path)
    case .missing:
      // As it is when its last letter has become too old.
      logger.info("a file of dead letters is gone; a new one is begun", about: mark.path)
    }
  }

  /// The mark of the file that the destination's next letters go to; a new file when there is none, or the last one is
  /// full, old, renamed or deleted.
  func prepare(_ destination: String) throws(FileError) -> FileMark {
    prepared.insert(destination)
    if let current = open[destination], try isGood(current) { return current.file.mark }
    open[destination] = nil
    let taken = names().last {
      $0.destination == DeadLetterFileName(begun: clock.now, destination: destination).destination
    }
    // A name is never used again and never sorts before an older file's, whatever the clock does.
    let begun = max(clock.now, taken.map { $0.begun + .milliseconds(1) } ?? clock.now)
    let name = DeadLetterFileName(begun: begun, destination: destination)
    let (file, _) = try RecordFile.create(path(name.description), on: system)
    open[destination] = Open(file: file, name: name)
    enforceLimits()
    return file.mark
  }

  private func isGood(_ current: Open) throws(FileError) -> Bool {
    guard !current.file.isFailed, current.file.length < limits.fileSize,
      clock.now - current.name.begun < limits.fileAge
    else { return false }
    switch try current.file.look() {
    case .unchanged: return true
    case .renamed, .deleted, .shortened, .lengthened: return false
    }
  }

  /// Appends whole lines to the prepared file and syncs it.
  ///
  /// When it throws, none of the lines counts.
  func append(_ destination: String, _ lines: UnsafeRawBufferPointer) throws(FileError) -> FileMark {
    if open[destination] == nil { _ = try prepare(destination) }
    guard let current = open[destination] else { preconditionFailure("prepare opens a file") }
    defer { prepared.remove(destination) }
    do throws(FileError) {
      try current.file.append(lines)
      try current.file.sync()
    } catch {
      // After a failed sync the kernel may have dropped what it couldn't write: another file is begun.
      try? current.file.cutToMark()
      open[destination] = nil
      throw error
    }
    size = size.map { $0 + lines.count }
    if let size, size > limits.size { enforceLimits() }
    return current.file.mark
  }

  /// Removes whole files, the oldest first: those that are too old, and as many as are too much.
  ///
  /// A file that is written to goes only when its last letter is too old.
  func enforceLimits() {
    let files = names().map { (name: $0, facts: facts(of: $0)) }
    var total = files.reduce(0) { $0 + ($1.facts?.length ?? 0) }
    let now = clock.now
    let mayAge = mayAge(newest: files.compactMap { name, facts in facts.map { changed(name, $0) } }.max(), now)
    for (name, facts) in files {
      guard let facts else { continue }
      let isOld = mayAge && now - changed(name, facts) > limits.retention
      let writer = open.first { $0.value.name == name }?.key
      guard isOld || (total > limits.size && writer == nil) else { continue }
      if let writer { open[writer] = nil }
      if remove(name, facts.length, isOld: isOld) { total -= facts.length }
    }
    size = total
    removeOrphans()
  }

  /// Removes what is noted of files that are there no longer, and copies that never took a file's place.
  private func removeOrphans() {
    let all = (try? system.list(directory)) ?? []
    let files = Set(all)
    for name in all where name.hasSuffix(ReplayedLetters.ending) {
      if !files.contains(String(name.dropLast(ReplayedLetters.ending.count))) { try? system.remove(path(name)) }
    }
    for name in all where name.hasSuffix(DeadLetterDrop.temporaryEnding) { try? system.remove(path(name)) }
  }

  /// Whether files may go for their age. Not at once when at the start even the newest is old: the clock may be wrong, and
  /// what is removed doesn't come back when it is set right.
  private func mayAge(newest: Timestamp?, _ now: Timestamp) -> Bool {
    if agesFrom == nil {
      let isOdd = newest.map { now - $0 > max(limits.retention, Self.plausibleGap) } ?? false
      agesFrom = .now + (isOdd ? Self.clockPatience : .zero)
      if isOdd {
        logger.warning(
          "even the newest dead letters are past their retention: they are kept for an hour, should the clock be wrong",
          ["clock": .text(now.description)])
      }
    }
    return agesFrom.map { $0 <= .now } ?? true
  }

  private static let clockPatience: Duration = .seconds(3600)
  private static let plausibleGap: Duration = .seconds(7 * 86_400)

  private func changed(_ name: DeadLetterFileName, _ facts: FileFacts) -> Timestamp {
    max(name.begun, Timestamp(milliseconds: facts.modifiedMilliseconds))
  }

  private func remove(_ name: DeadLetterFileName, _ bytes: Int, isOld: Bool) -> Bool {
    let path = path(name.description)
    let letters = DeadLetterReader(directory: directory, system: system).countLetters(in: name.description)
    do throws(FileError) {
      try remove(
        RemovedLetters.Intent(
          witness: name.description, destination: name.destination, reason: isOld ? .age : .size, letters: letters)
      ) { () throws(FileError) in try system.remove(path) }
      try ReplayedLetters(directory: directory, system: system).remove(of: name.description)
    } catch {
      logger.warning("old dead letters can't be removed", about: path, ["reason": .text(error.description)])
      return false
    }
    let fields: KeyValuePairs<String, LogValue> = ["letters": .integer(letters), "bytes": .integer(bytes)]
    if isOld {
      logger.warning("dead letters older than dead_letters.retention were removed", about: path, fields)
    } else {
      logger.warning("the oldest dead letters were removed: dead_letters.max_size is reached", about: path, fields)
    }
    return true
  }

  func close(_ destination: String) {
    open[destination] = nil
    prepared.remove(destination)
  }

  /// Counts letters that go, whatever happens meanwhile: notes them, has them go, and counts them.
  func remove(
    _ intent: RemovedLetters.Intent, _ body: () throws(FileError) -> Void
  ) throws(FileError) {
    var next = removed
    next.intent = intent
    // (A disk so full that not even this can be written is what removing letters helps against.)
    try? next.write(directory, system)
    do throws(FileError) {
      try body()
    } catch {
      try? removed.write(directory, system)
      throw error
    }
    removed.add(intent)
    try? removed.write(directory, system)
  }

  /// Leaves the file that a destination writes to, so that it may be changed; false while letters are on their way there.
  func leave(_ file: DeadLetterFileName) -> Bool {
    guard let writer = open.first(where: { $0.value.name == file })?.key else { return true }
    guard !prepared.contains(writer) else { return false }
    open[writer] = nil
    return true
  }

  /// Sizes are counted anew.
  func forgetSize() { size = nil }

  /// All files of dead letters, the oldest first.
  func names() -> [DeadLetterFileName] {
    ((try? system.list(directory)) ?? []).compactMap { DeadLetterFileName($0) }.sorted()
  }

  func facts(of name: DeadLetterFileName) -> FileFacts? {
    (try? system.facts(of: path(name.description))).flatMap { $0 }
  }

  func path(_ name: String) -> String { "\(directory)/\(name)" }
}
