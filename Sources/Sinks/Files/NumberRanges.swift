/// Numbers, kept as the ranges they make.
struct NumberRanges: Sendable, Equatable {
  private(set) var ranges: [ClosedRange<UInt64>] = []

  /// Adds numbers, in any order.
  mutating func add(_ numbers: [UInt64]) {
    var all = ranges
    for number in numbers {
      if let last = all.last, number > 0, last.upperBound == number - 1 {
        all[all.count - 1] = last.lowerBound...number
      } else {
        all.append(number...number)
      }
    }
    all.sort { $0.lowerBound < $1.lowerBound }
    ranges = []
    for range in all {
      if let last = ranges.last, range.lowerBound <= last.upperBound || range.lowerBound - 1 == last.upperBound {
        ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        ranges.append(range)
      }
    }
  }
}
