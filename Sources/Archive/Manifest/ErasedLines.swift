/// What was erased from one file, over all erasures.
struct ErasedLines: Sendable, Equatable {
  /// Line numbers, from 1: ascending, apart from each other.
  private(set) var lines: [ClosedRange<Int>] = []
  /// The newest erasure: how the file is now.
  private(set) var newest: ManifestErasure

  init(_ first: ManifestErasure) { newest = first }

  mutating func add(_ erasure: ManifestErasure) {
    newest = erasure
    lines = (lines + erasure.lines).sorted { $0.lowerBound < $1.lowerBound }
  }

  var count: Int { lines.reduce(0) { $0 + $1.count } }

  func overlaps(_ range: ClosedRange<Int>) -> Bool { lines.contains { $0.overlaps(range) } }

  func contains(_ line: Int) -> Bool {
    // The last range that doesn't begin behind the line.
    var (low, high) = (0, lines.count)
    while low < high {
      let middle = (low + high) / 2
      if lines[middle].lowerBound <= line { low = middle + 1 } else { high = middle }
    }
    return low > 0 && lines[low - 1].contains(line)
  }
}
