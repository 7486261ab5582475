/// Some of a lane's events, by their numbers: what memory has of them while they wait.
///
/// A range stands for events that follow one another in the lane; numbers in it may be other lanes'.
struct EventRanges: Sendable, Equatable {
  struct Run: Sendable, Equatable {
    var numbers: ClosedRange<UInt64>
    var events: Int
  }

  /// In the order of a request's events; ascending for what is to be read.
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

  /// Whether a number lies in one of the runs.
  func holds(_ number: UInt64) -> Bool { runs.contains { $0.numbers.contains(number) } }

  /// Appends an event.
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

  /// The same, in the lane's order.
  func sorted() -> EventRanges {
    let isSorted = zip(runs, runs.dropFirst()).allSatisfy { $0.numbers.upperBound < $1.numbers.lowerBound }
    return isSorted ? self : EventRanges(runs.sorted { $0.numbers.lowerBound < $1.numbers.lowerBound })
  }

  /// Some of the events, by their places in a batch that holds exactly these, in its order.
  func select(_ numbers: (Int) -> UInt64, _ isWanted: (Int) -> Bool) -> EventRanges {
    var found = EventRanges()
    var place = 0
    for run in runs {
      var follows = false
      for _ in 0..<run.events {
        let isIn = isWanted(place)
        if isIn { found.append(numbers(place), follows: follows) }
        follows = isIn
        place += 1
      }
    }
    return found
  }
}
