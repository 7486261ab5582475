import Clocks
import EventLog
import Observability
import Records
import Synchronization

/// Keeps what couldn't be delivered: one line each, as the contract has it, in `*.ndjson` files of one directory.
///
/// A destination writes to files of its own, named by time, and is exact through crashes this way: it calls
/// ``prepare(_:)``, commits the mark if the file isn't on its record yet, appends with ``append(_:lines:)``, then acknowledges the events
/// and commits the mark with its position. At the next start ``recover(_:mark:)`` cuts off what was not committed.
///
/// The limits hold for all files together: whole oldest files go. Blocks on the disk: call it on a thread of one's own.
public final class DeadLetterStore: Sendable {
  public let directory: String
  private let lock = Mutex(())
  /// Used under `lock` alone.
  private nonisolated(unsafe) let files: DeadLetterFiles

  /// - Parameter directory: made with the first dead letter.
  public init(
    directory: String, limits: DeadLetterLimits = DeadLetterLimits(), clock: WallClock = .system, logger: Logger,
    system: FileSystem = .system
  ) {
    self.directory = directory
    files = DeadLetterFiles(directory: directory, limits: limits, clock: clock, logger: logger, system: system)
  }

  /// Takes up the file that the destination's committed mark tells of, and cuts off what was appended after that.
  ///
  /// A file that isn't the marked one any more is left alone; the next dead letter begins a new one. Letters stay, too, whose
  /// events nobody can try again: then the mark is an older one that was put back.
  ///
  /// - Parameter keepsLetters: what was appended after that stays: not all of the events in ``numbers(behind:)`` are owed.
  public func recover(_ destination: String, mark: FileMark?, keepsLetters: Bool = false) throws(FileError) {
    guard let mark else { return }
    try locked { (files) throws(FileError) in try files.recover(destination, mark, keepsLetters: keepsLetters) }
  }

  /// The numbers of the events whose letters were appended after the committed mark.
  public func numbers(behind mark: FileMark?) throws(FileError) -> [UInt64] {
    guard let mark else { return [] }
    return try locked { (files) throws(FileError) in try files.tail(behind: mark).sequences }
  }

  /// The mark of the file that the destination's next letters go to; commit it before appending when the file is another than
  /// the one on record.
  public func prepare(_ destination: String) throws(FileError) -> FileMark {
    try locked { (files) throws(FileError) in try files.prepare(destination) }
  }

  /// Appends whole lines, and returns the mark to commit when they are on stable storage.
  ///
  /// - Throws: when none of them counts: the disk is full or failing, or the directory can't be written.
  public func append(_ destination: String, lines: RecordLines) throws(FileError) -> FileMark {
    let bytes = lines.bytes
    return try locked { (files) throws(FileError) in try files.append(destination, bytes) }
  }

  /// Removes files past the limits. Done by itself with each new file; call it now and then for the retention.
  public func enforceLimits() { lock.withLock { _ in files.enforceLimits() } }

  /// Takes other limits, and removes at once what is past them.
  public func setLimits(_ limits: DeadLetterLimits) {
    lock.withLock { _ in
      files.limits = limits
      files.enforceLimits()
    }
  }

  /// Closes the destination's file.
  public func close(_ destination: String) { lock.withLock { _ in files.close(destination) } }

  /// How many dead letters of each destination went without being sent, and why; of all times.
  public var removedLetters: [String: [DeadLetterRemoval: Int]] { lock.withLock { _ in files.removed.counts } }

  /// Notes that lines of a file were put back to their destination. Noting them again changes nothing.
  public func markReplayed(_ lines: LineSet, of file: String) throws(FileError) {
    try locked { (files) throws(FileError) in
      try ReplayedLetters(directory: files.directory, system: files.system).add(lines, of: file)
    }
  }

  /// Removes letters: their bytes are gone from the disk when this returns.
  ///
  /// - Parameter committed: each destination's committed mark: what lies behind it may still be tried again.
  public func drop(
    _ filter: DeadLetterFilter, committed: [String: FileMark]
  ) throws(FileError) -> DeadLetterDrop.Outcome {
    try locked { (files) throws(FileError) in
      var drop = DeadLetterDrop(files, filter, committed: committed)
      return try drop.run()
    }
  }

  private func locked<Value>(_ body: (DeadLetterFiles) throws(FileError) -> Value) throws(FileError) -> Value {
    try lock.withLock { (_) throws(FileError) in try body(files) }
  }
}
