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
  ///   - mayBe: whether a line may be one, told without parsing it; the others are skipped.
  ///   - isID: whether an event's id, as it was sent, is the one.
  ///   - deadline: no file is begun after it.
  public func find(
    until deadline: ContinuousClock.Instant, mayBe: (UnsafeRawBufferPointer) -> Bool, isID: (String) -> Bool
  ) throws(FileError) -> (letters: [DeadLetterSummary], extent: Extent) {
    var found: [DeadLetterSummary] = []
    var extent = Extent()
    for file in try files().reversed() {
      guard ContinuousClock.now < deadline else {
        extent.filesLeft += 1
        continue
      }
      let candidates = try candidates(in: file, mayBe)
      extent.files += 1
      guard !candidates.isEmpty else { continue }
      _ = try forEach(in: file, DeadLetterFilter(includesReplayed: true)) { letter, _ in
        if candidates.contains(letter.line), letter.eventID.map(isID) == true { found.append(letter) }
        return letter.line < candidates.ranges.last?.upperBound ?? 0
      }
    }
    return (found, extent)
  }

  private func candidates(
    in file: String, _ mayBe: (UnsafeRawBufferPointer) -> Bool
  ) throws(FileError) -> LineSet {
    var lines = LineSet()
    do throws(FileError) {
      try LineScanner.scan("\(directory)/\(file)") { number, line in
        if mayBe(line) { lines.insert(number) }
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
