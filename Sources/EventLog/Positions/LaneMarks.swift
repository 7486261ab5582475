/// What a lane has settled: everything up to a low-water mark, and intervals above it.
struct LaneMarks: Equatable {
  /// Every event of the lane numbered up to this is settled.
  var low: UInt64
  /// Settled numbers above `low`; between them something is owed.
  var above = IntervalSet()

  init(low: UInt64) { self.low = low }

  init(low: UInt64, above: IntervalSet) {
    self.low = low
    self.above = above
  }

  /// What of a range is not settled.
  func unsettled(in range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
    let lower = max(range.lowerBound, low + 1)
    return lower <= range.upperBound ? above.gaps(in: lower...range.upperBound) : []
  }

  func isSettled(_ sequence: UInt64) -> Bool { sequence <= low || above.contains(sequence) }

  /// Settles everything up to a number.
  mutating func settle(through sequence: UInt64) {
    guard sequence > low else { return }
    low = sequence
    above.remove(through: sequence)
  }
}
