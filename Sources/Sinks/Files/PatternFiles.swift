import Clocks
import Records

/// The files that are there under a pattern's names. Reads directories and changes nothing.
///
/// Only what matches the pattern in every component is looked at. Symbolic links are followed in the part of the path that
/// has no field in it, and left alone behind that.
struct PatternFiles {
  struct File: Sendable, Equatable {
    var path: String
    /// What its name tells.
    var told: PathPattern.NamedTime
  }

  private let pattern: PathPattern
  private let system: FileSystem
  /// Of files and directories whose time was over by then nothing is found; nil: all are.
  private let oldest: Timestamp?
  /// In no order.
  private(set) var found: [File] = []
  /// Why directories can't be looked into; the others are.
  private(set) var errors: [FileError] = []

  init(_ pattern: PathPattern, after oldest: Timestamp? = nil, on system: FileSystem) {
    self.pattern = pattern
    self.system = system
    self.oldest = oldest
    visit("", component: 0, PathPattern.NamedTime())
  }

  private mutating func visit(_ directory: String, component index: Int, _ before: PathPattern.NamedTime) {
    let isLast = index == pattern.components.count - 1
    for name in names(in: directory, component: index) {
      guard let told = pattern.match(name, component: index, after: before) else { continue }
      if let oldest, let end = told.end, end <= oldest { continue }
      let path = "\(directory)/\(name)"
      if isLast {
        found.append(File(path: path, told: told))
      } else if !pattern.hasField(index) || isDirectory(path) {
        visit(path, component: index + 1, told)
      }
    }
  }

  /// A directory above the first component with a field in it isn't listed: it may hold anything.
  private mutating func names(in directory: String, component index: Int) -> [String] {
    if index < pattern.components.count - 1, !pattern.hasField(index) {
      return [pattern.components[index].map { if case .literal(let text) = $0 { text } else { "" } }.joined()]
    }
    do throws(FileError) {
      return try system.list(directory.isEmpty ? "/" : directory)
    } catch {
      errors.append(error)
      return []
    }
  }

  private mutating func isDirectory(_ path: String) -> Bool {
    do throws(FileError) {
      return try system.facts(of: path)?.isDirectory == true
    } catch {
      errors.append(error)
      return false
    }
  }
}

extension PathPattern {
  func hasField(_ index: Int) -> Bool { components[index].contains { !$0.isLiteral } }
}
