import JSON

/// A set of line numbers, as ranges in ascending order that neither touch nor overlap.
public struct LineSet: Sendable, Equatable {
  public private(set) var ranges: [ClosedRange<Int>] = []

  public init() {}

  public var isEmpty: Bool { ranges.isEmpty }
  public var count: Int { ranges.reduce(0) { $0 + $1.count } }

  public func contains(_ line: Int) -> Bool {
    let at = index { $0.upperBound >= line }
    return at < ranges.count && ranges[at].lowerBound <= line
  }

  public mutating func insert(_ line: Int) { insert(line...line) }

  public mutating func insert(_ range: ClosedRange<Int>) {
    let from = index { $0.upperBound + 1 >= range.lowerBound }
    let to = index { $0.lowerBound > range.upperBound + 1 }
    guard from < to else { return ranges.insert(range, at: from) }
    let lower = min(range.lowerBound, ranges[from].lowerBound)
    let upper = max(range.upperBound, ranges[to - 1].upperBound)
    ranges.replaceSubrange(from..<to, with: CollectionOfOne(lower...upper))
  }

  public mutating func formUnion(_ other: LineSet) { for range in other.ranges { insert(range) } }

  /// Where the ranges begin for which the condition holds.
  private func index(_ holds: (ClosedRange<Int>) -> Bool) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if holds(ranges[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// `[[1,5],[7,7]]`
  var json: JSONValue { .array(ranges.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) }) }

  /// Nil when the value is no such list.
  init?(_ json: JSONValue) {
    guard let list = json.array else { return nil }
    for pair in list {
      guard let pair = pair.array, pair.count == 2, let lower: Int = pair[0].integer(),
        let upper: Int = pair[1].integer(),
        lower > 0, lower <= upper
      else { return nil }
      insert(lower...upper)
    }
  }
}
