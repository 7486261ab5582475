import EventLog
import JSON

/// Where an event lies in what it comes from: a number in the log, or a line of a file.
struct ReplayPlace: Sendable, Equatable {
  /// Empty in the log.
  var file: String
  var number: UInt64

  var json: JSONValue { .array([.string(file), JSONValue(number)]) }

  init(file: String, number: UInt64) {
    self.file = file
    self.number = number
  }

  init?(_ json: JSONValue) {
    guard let pair = json.array, pair.count == 2, let file = pair[0].string, let number: UInt64 = pair[1].integer()
    else { return nil }
    self.init(file: file, number: number)
  }
}

/// Where the events of a chunk lie, in their order: runs of neighbours.
struct ReplayPlaces: Sendable, Equatable {
  struct Run: Sendable, Equatable {
    var file: String
    var numbers: ClosedRange<UInt64>
    /// Of dead letters: what they had been given up for.
    var reason: Outcome?

    var count: Int { Int(numbers.upperBound - numbers.lowerBound) + 1 }
  }

  private(set) var runs: [Run] = []

  init() {}

  var count: Int { runs.reduce(0) { $0 + $1.count } }
  var last: ReplayPlace? { runs.last.map { ReplayPlace(file: $0.file, number: $0.numbers.upperBound) } }

  mutating func add(_ place: ReplayPlace, _ reason: Outcome?) {
    if let last = runs.last, last.file == place.file, last.reason == reason, last.numbers.upperBound + 1 == place.number
    {
      runs[runs.count - 1].numbers = last.numbers.lowerBound...place.number
    } else {
      runs.append(Run(file: place.file, numbers: place.number...place.number, reason: reason))
    }
  }

  /// Those of the first `count` events.
  func prefix(_ count: Int) -> ReplayPlaces {
    var out = ReplayPlaces()
    var left = count
    for run in runs where left > 0 {
      let part = min(left, run.count)
      let upper = run.numbers.lowerBound + UInt64(part) - 1
      out.runs.append(Run(file: run.file, numbers: run.numbers.lowerBound...upper, reason: run.reason))
      left -= part
    }
    return out
  }

  /// By what the dead letters among them had been given up for.
  var reasons: Tally {
    var tally = Tally()
    for run in runs { if let reason = run.reason { tally.add(reason, UInt64(run.count)) } }
    return tally
  }

  /// `[["file",1,5,"rejected"],…]`
  var json: JSONValue {
    .array(
      runs.map {
        .array([
          .string($0.file), JSONValue($0.numbers.lowerBound), JSONValue($0.numbers.upperBound),
          JSONValue($0.reason?.rawValue),
        ])
      })
  }

  init?(_ json: JSONValue) {
    guard let list = json.array else { return nil }
    for run in list {
      guard let run = run.array, run.count == 4, let file = run[0].string, let lower: UInt64 = run[1].integer(),
        let upper: UInt64 = run[2].integer(), lower <= upper
      else { return nil }
      runs.append(Run(file: file, numbers: lower...upper, reason: run[3].string.flatMap(Outcome.init)))
    }
  }
}
