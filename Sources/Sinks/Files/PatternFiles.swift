import Clocks
import Records

/// The files that are there under a pattern's names. Reads directories and changes nothing.
struct PatternFiles {
  struct File: Sendable, Equatable {
    var path: String
    /// When the period that its name tells is over; nil when the name tells no whole date.
    var end: Timestamp?
  }

  private let pattern: PathPattern
  private let system: FileSystem
  private var found: [File] = []

  /// All of them, in no order.
  static func list(_ pattern: PathPattern, on system: FileSystem) throws(FileError) -> [File] {
    var files = PatternFiles(pattern: pattern, system: system)
    try files.visit("", component: 0, PathPattern.NamedTime())
    return files.found
  }

  private init(pattern: PathPattern, system: FileSystem) {
    self.pattern = pattern
    self.system = system
  }

  private mutating func visit(
    _ directory: String, component index: Int, _ told: PathPattern.NamedTime
  ) throws(FileError) {
    let isLast = index == pattern.components.count - 1
    let parts = pattern.components[index]
    // A directory above the first component with a field in it isn't listed: it may hold anything.
    let isPlain = !isLast && parts.allSatisfy(\.isLiteral)
    let names =
      isPlain
      ? [parts.map { if case .literal(let text) = $0 { text } else { "" } }.joined()]
      : try system.list(directory.isEmpty ? "/" : directory)
    for name in names {
      guard let time = pattern.match(name, component: index, after: told) else { continue }
      if isLast {
        found.append(File(path: "\(directory)/\(name)", end: time.end))
      } else {
        try visit("\(directory)/\(name)", component: index + 1, time)
      }
    }
  }
}
