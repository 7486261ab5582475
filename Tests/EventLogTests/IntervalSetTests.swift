import TestSupport
import Testing

@testable import EventLog

@Suite("A set of intervals")
struct IntervalSetTests {
  @Test("holds what a plain set of numbers holds")
  func model() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<200 {
      var set = IntervalSet()
      var model: Set<UInt64> = []
      for _ in 0..<40 {
        let lower = random.next() % 60
        let range = lower...lower + random.next() % 6
        if random.once(in: 6) {
          set.remove(through: lower)
          model = model.filter { $0 > lower }
        } else {
          let gaps = set.gaps(in: range).flatMap { Array($0) }
          #expect(gaps == range.filter { !model.contains($0) })
          set.insert(range)
          model.formUnion(range)
        }
        #expect(set.ranges.flatMap { Array($0) } == model.sorted())
        for (one, next) in zip(set.ranges, set.ranges.dropFirst()) { #expect(one.upperBound + 1 < next.lowerBound) }
        #expect((0..<70).allSatisfy { set.contains($0) == model.contains($0) })
      }
    }
  }

  @Test("reaches to the last number there is")
  func extremes() {
    var set = IntervalSet()
    set.insert(UInt64.max...UInt64.max)
    set.insert(0...3)
    set.insert(4...4)
    #expect(set.ranges == [0...4, UInt64.max...UInt64.max])
    #expect(set.gaps(in: 0...UInt64.max) == [5...UInt64.max - 1])
  }

  @Test("takes no stored ranges that overlap or aren't ascending")
  func stored() {
    #expect(IntervalSet([1...3, 3...4]) == nil)
    #expect(IntervalSet([5...6, 1...2]) == nil)
    #expect(IntervalSet([1...2, 5...6]) != nil)
  }
}
