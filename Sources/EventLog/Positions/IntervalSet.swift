/// A set of numbers as ranges that neither touch nor overlap, in ascending order.
struct IntervalSet: Equatable {
  private(set) var ranges: [ClosedRange<UInt64>] = []

  var isEmpty: Bool { ranges.isEmpty }
  var count: Int { ranges.count }
  var first: ClosedRange<UInt64>? { ranges.first }
  var last: ClosedRange<UInt64>? { ranges.last }

  init() {}

  /// Takes ranges as they were stored; nil when they aren't ascending and apart.
  init?(_ ranges: [ClosedRange<UInt64>]) {
    for (one, next) in zip(ranges, ranges.dropFirst()) where next.lowerBound <= one.upperBound { return nil }
    self.ranges = ranges
  }

  func contains(_ number: UInt64) -> Bool {
    let at = ranges.partition { $0.upperBound >= number }
    return at < ranges.count && ranges[at].lowerBound <= number
  }

  mutating func insert(_ range: ClosedRange<UInt64>) {
    // The ranges that the new one touches or overlaps are from..<to.
    let from = ranges.partition { $0.upperBound == .max || $0.upperBound + 1 >= range.lowerBound }
    let to = ranges.partition { range.upperBound != .max && $0.lowerBound > range.upperBound + 1 }
    guard from < to else {
      ranges.insert(range, at: from)
      return
    }
    let lower = min(range.lowerBound, ranges[from].lowerBound)
    let upper = max(range.upperBound, ranges[to - 1].upperBound)
    ranges.replaceSubrange(from..<to, with: CollectionOfOne(lower...upper))
  }

  /// What of a range is not in the set.
  func gaps(in range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
    var out: [ClosedRange<UInt64>] = []
    var lower = range.lowerBound
    var at = ranges.partition { $0.upperBound >= range.lowerBound }
    while at < ranges.count, ranges[at].lowerBound <= range.upperBound {
      if ranges[at].lowerBound > lower { out.append(lower...ranges[at].lowerBound - 1) }
      if ranges[at].upperBound >= range.upperBound { return out }
      lower = ranges[at].upperBound + 1
      at += 1
    }
    out.append(lower...range.upperBound)
    return out
  }

  mutating func removeFirst() { ranges.removeFirst() }

  mutating func removeAll() { ranges.removeAll(keepingCapacity: true) }

  /// Takes out all numbers up to this one.
  mutating func remove(through number: UInt64) {
    let at = ranges.partition { $0.upperBound > number }
    ranges.removeSubrange(..<at)
    if let first = ranges.first, first.lowerBound <= number { ranges[0] = number + 1...first.upperBound }
  }
}
