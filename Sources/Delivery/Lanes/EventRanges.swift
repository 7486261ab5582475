/// Some of a lane's events, by their numbers: what memory has of them while they wait.
///
/// A range stands for events that follow one another in the lane; numbers in it may be other lanes'.
struct EventRanges: Sendable, Equatable {
  struct Run: Sendable, Equatable {
    var numbers: ClosedRange<UInt64>
    var events: Int
  }

  /// In ascending order.
  private(set) var runs: [Run] = []
  private(set) var count = 0

  init() {}

  init(_ runs: [Run]) {
    self.runs = runs
    count = runs.reduce(0) { $0 + $1.events }
  }

  var isEmpty: Bool { count == 0 }
  var first: UInt64? { runs.first?.numbers.lowerBound }
  var last: UInt64? { runs.last?.numbers.upperBound }
  var numbers: [ClosedRange<UInt64>] { runs.map(\.numbers) }

  /// Appends an event with a number above all others.
  ///
  /// - Parameter follows: in the lane it comes right behind the last one here.
  mutating func append(_ number: UInt64, follows: Bool) {
    count += 1
    if follows, let last = runs.last {
      runs[runs.count - 1] = Run(numbers: last.numbers.lowerBound...number, events: last.events + 1)
    } else {
      runs.append(Run(numbers: number...number, events: 1))
    }
  }

  /// Puts an event where it belongs; one that is there already is left.
  mutating func insert(_ number: UInt64) {
    var at = runs.count
    while at > 0, runs[at - 1].numbers.lowerBound > number { at -= 1 }
    if at > 0, runs[at - 1].numbers.contains(number) { return }
    runs.insert(Run(numbers: number...number, events: 1), at: at)
    count += 1
  }
}

extension EventRanges {
  /// The ranges that hold the first so many events; the last one may hold more.
  func first(_ count: Int) -> [ClosedRange<UInt64>] {
    var found: [ClosedRange<UInt64>] = []
    var events = 0
    for run in runs where events < count {
      found.append(run.numbers)
      events += run.events
    }
    return found
  }

  /// Takes out what was read: everything up to a number.
  ///
  /// - Parameter taken: how many events were read.
  mutating func remove(through number: UInt64, taken: Int) {
    var whole = 0
    var at = 0
    while at < runs.count, runs[at].numbers.upperBound <= number {
      whole += runs[at].events
      at += 1
    }
    runs.removeSubrange(..<at)
    if let cut = runs.first, cut.numbers.lowerBound <= number {
      // (At least one is left of it: its last number is one of its events'.)
      runs[0] = Run(numbers: number + 1...cut.numbers.upperBound, events: max(1, cut.events - max(0, taken - whole)))
    }
    count = runs.reduce(0) { $0 + $1.events }
  }

  /// The first so many events, of which the last has this number.
  func prefix(_ count: Int, through number: UInt64) -> EventRanges {
    var found: [Run] = []
    var left = count
    for run in runs where left > 0 {
      let upper = min(run.numbers.upperBound, number)
      found.append(Run(numbers: run.numbers.lowerBound...upper, events: min(run.events, left)))
      left -= run.events
    }
    return EventRanges(found)
  }
}
