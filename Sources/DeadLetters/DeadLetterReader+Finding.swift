import Dialects
import Glibc
import Records

extension DeadLetterReader {
  /// How far a search came.
  public struct Extent: Sendable, Equatable {
    public var files = 0
    /// Files that there was no time for.
    public var filesLeft = 0

    public init() {}
  }

  /// Finds letters whose event has an id, the newest file first.
  ///
  /// - Parameters:
  ///   - id: lines that can't have it are skipped without being parsed.
  ///   - deadline: no file is begun after it.
  public func find(
    _ id: SoughtID, until deadline: ContinuousClock.Instant
  ) throws(FileError) -> (letters: [DeadLetterSummary], extent: Extent) {
    var found: [DeadLetterSummary] = []
    var extent = Extent()
    for file in try files().reversed() {
      guard ContinuousClock.now < deadline else {
        extent.filesLeft += 1
        continue
      }
      let candidates = try candidates(in: file, id)
      extent.files += 1
      guard !candidates.isEmpty else { continue }
      _ = try forEach(in: file, DeadLetterFilter(includesReplayed: true)) { letter, _ in
        if candidates.contains(letter.line), letter.eventID.map(id.isID) == true { found.append(letter) }
        return letter.line < candidates.ranges.last?.upperBound ?? 0
      }
    }
    return (found, extent)
  }

  private func candidates(in file: String, _ id: SoughtID) throws(FileError) -> LineSet {
    var lines = LineSet()
    do throws(FileError) {
      try LineScanner.scan("\(directory)/\(file)") { number, line in
        if id.occurs(in: line) { lines.insert(number) }
        return true
      }
    } catch {
      // Removed meanwhile, as old files are.
      guard error.isMissing else { throw error }
    }
    return lines
  }
}

extension FileError {
  /// There is no such file.
  var isMissing: Bool { code == ENOENT }
}
