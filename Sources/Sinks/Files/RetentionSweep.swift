import Clocks
import Records

/// Looks through the directories of a pattern and removes the files that are too old, and the directories that leaves empty.
///
/// Only what matches the pattern in every component is looked at. Symbolic links are followed in the part of the path that
/// has no field in it, and left alone behind that.
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

  mutating func run() { _ = visit("", component: 0, PathPattern.NamedTime()) }

  /// - Returns: whether something in the directory was removed.
  private mutating func visit(_ directory: String, component index: Int, _ told: PathPattern.NamedTime) -> Bool {
    var hasRemoved = false
    for name in names(in: directory, component: index) {
      guard let time = pattern.match(name, component: index, after: told) else { continue }
      let path = "\(directory)/\(name)"
      if index < pattern.components.count - 1, !hasField(index) { return visit(path, component: index + 1, time) }
      guard let facts = attempt({ (system) throws(FileError) in try system.facts(of: path) }) ?? nil else { continue }
      if index == pattern.components.count - 1 {
        if facts.isRegular, remove(path, facts, time) { hasRemoved = true }
      } else if facts.isDirectory, visit(path, component: index + 1, time) {
        if (try? system.removeEmptyDirectory(path)) == true { hasRemoved = true }
      }
    }
    return hasRemoved
  }

  /// A directory above the first component with a field in it isn't listed: it may hold anything.
  private mutating func names(in directory: String, component index: Int) -> [String] {
    if index < pattern.components.count - 1, !hasField(index) {
      return [pattern.components[index].map { if case .literal(let text) = $0 { text } else { "" } }.joined()]
    }
    return attempt { (system) throws(FileError) in try system.list(directory.isEmpty ? "/" : directory) } ?? []
  }

  private func hasField(_ index: Int) -> Bool {
    pattern.components[index].contains { !$0.isLiteral }
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
