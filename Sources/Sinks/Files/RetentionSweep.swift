import Clocks
import Records

/// Removes the files of a pattern that are too old, and the directories that leaves empty.
struct RetentionSweep {
  let pattern: PathPattern
  let policy: RetentionPolicy
  let system: FileSystem
  let now: Timestamp
  /// The files that are written to.
  let openPaths: Set<String>

  private(set) var removedFiles = 0
  private(set) var removedBytes = 0
  /// The first thing that went wrong; the sweep goes on after it.
  private(set) var error: FileError?

  init(_ pattern: PathPattern, _ policy: RetentionPolicy, on system: FileSystem, now: Timestamp, openPaths: Set<String>)
  {
    self.pattern = pattern
    self.policy = policy
    self.system = system
    self.now = now
    self.openPaths = openPaths
  }

  mutating func run() {
    let files = PatternFiles(pattern, on: system)
    error = files.errors.first
    var directories: Set<String> = []
    for file in files.found where removeIfOld(file) { directories.insert(FileSystem.parent(of: file.path)) }
    for directory in directories.sorted(by: >) { removeIfEmpty(directory) }
  }

  private mutating func removeIfOld(_ file: PatternFiles.File) -> Bool {
    guard let facts = attempt({ (system) throws(FileError) in try system.facts(of: file.path) }) ?? nil,
      facts.isRegular
    else { return false }
    return remove(file.path, facts, file.told)
  }

  /// A directory that the pattern names with a field, and those above it.
  private func removeIfEmpty(_ directory: String) {
    var directory = directory
    var index = pattern.components.count - 2
    while index >= 0, pattern.hasField(index), (try? system.removeEmptyDirectory(directory)) == true {
      directory = FileSystem.parent(of: directory)
      index -= 1
    }
  }

  private mutating func remove(_ path: String, _ facts: FileFacts, _ time: PathPattern.NamedTime) -> Bool {
    let modified = Timestamp(milliseconds: facts.modifiedMilliseconds)
    guard policy.removes(named: time.end, modified: modified, isOpen: openPaths.contains(path), now: now),
      attempt({ (system) throws(FileError) in try system.remove(path) }) != nil
    else { return false }
    removedFiles += 1
    removedBytes += facts.length
    return true
  }

  /// Nil, and noted, when it fails.
  private mutating func attempt<Value>(_ body: (FileSystem) throws(FileError) -> Value) -> Value? {
    do throws(FileError) {
      return try body(system)
    } catch {
      self.error = self.error ?? error
      return nil
    }
  }
}
