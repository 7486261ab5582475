import Synchronization

/// A number that only grows.
public final class Counter: Sendable {
  private let count = Atomic<UInt64>(0)

  public init() {}

  public func add(_ amount: Int = 1) {
    precondition(amount >= 0, "a counter only grows")
    count.wrappingAdd(UInt64(amount), ordering: .relaxed)
  }

  public var value: UInt64 { count.load(ordering: .relaxed) }
}

/// Counts observations by size.
public final class Histogram: Sendable {
  /// The upper bounds of the buckets, ascending; one more takes what is above the last.
  public let bounds: [Double]
  private let state: Mutex<State>

  private struct State {
    var counts: [UInt64]
    var sum = 0.0
  }

  /// 0.1 ms to 30 s: how long a request or a sync takes.
  public static let secondsBounds: [Double] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
  ]
  /// 1 to 100,000: how many go together.
  public static let countBounds: [Double] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000]

  public init(bounds: [Double] = Histogram.secondsBounds) {
    self.bounds = bounds
    state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
  }

  public func observe(_ value: Double) {
    var bucket = 0
    while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
    state.withLock {
      $0.counts[bucket] += 1
      $0.sum += value
    }
  }

  public func observe(_ duration: Duration) { observe(duration.seconds) }

  public struct Snapshot: Sendable {
    /// Observations at most as large as each bound, and all of them at the end.
    public var cumulative: [UInt64]
    public var sum: Double
    public var count: UInt64 { cumulative.last ?? 0 }
  }

  public var snapshot: Snapshot {
    state.withLock { state in
      var running: UInt64 = 0
      return Snapshot(
        cumulative: state.counts.map {
          running += $0
          return running
        }, sum: state.sum)
    }
  }
}

/// All metrics of one relay. Each family is registered once under its full name; each set of label values is a series.
///
/// Label values are closed sets: never a key, id, address or event name. A family holds at most ``seriesMax`` series;
/// what is asked for past that is counted under the last label value `other`.
public final class MetricsRegistry: Sendable {
  public static let seriesMax = 1024

  public typealias Labels = [(name: String, value: String)]

  enum Source {
    case counter(Counter)
    case histogram(Histogram)
    case reading(@Sendable () -> Double)
  }

  struct Series {
    var labels: Labels
    var source: Source
  }

  struct Family {
    var name: String
    var help: String
    var type: String
    var series: [Series] = []
    var index: [String: Int] = [:]
    /// Gauges whose label sets come and go: read anew at each scrape.
    var collect: (@Sendable () -> [(labels: Labels, value: Double)])?
  }

  private struct State {
    var families: [Family] = []
    var index: [String: Int] = [:]
  }

  private let state = Mutex(State())

  public init() {}

  /// The counter of this name and these label values: the same one at every call.
  public func counter(_ name: String, _ help: String, _ labels: Labels = []) -> Counter {
    let source = series(name, help, "counter", labels) { .counter(Counter()) }
    guard case .counter(let counter) = source else { preconditionFailure("\(name) is no counter") }
    return counter
  }

  /// The histogram of this name and these label values: the same one at every call.
  public func histogram(
    _ name: String, _ help: String, bounds: [Double] = Histogram.secondsBounds, _ labels: Labels = []
  ) -> Histogram {
    let source = series(name, help, "histogram", labels) { .histogram(Histogram(bounds: bounds)) }
    guard case .histogram(let histogram) = source else { preconditionFailure("\(name) is no histogram") }
    return histogram
  }

  /// A gauge, read when somebody asks.
  public func gauge(_ name: String, _ help: String, _ labels: Labels = [], read: @escaping @Sendable () -> Double) {
    _ = series(name, help, "gauge", labels) { .reading(read) }
  }

  /// A counter that is kept elsewhere, read when somebody asks.
  public func counter(
    _ name: String, _ help: String, _ labels: Labels = [], read: @escaping @Sendable () -> Double
  ) {
    _ = series(name, help, "counter", labels) { .reading(read) }
  }

  /// A family whose series are made at each scrape. `type` is `gauge` or `counter`.
  public func family(
    _ name: String, _ help: String, type: String, collect: @escaping @Sendable () -> [(labels: Labels, value: Double)]
  ) {
    state.withLock { state in
      let at = Self.familyIndex(name, help, type, &state)
      state.families[at].collect = collect
    }
  }

  private static func familyIndex(_ name: String, _ help: String, _ type: String, _ state: inout State) -> Int {
    if let at = state.index[name] { return at }
    state.families.append(Family(name: name, help: help, type: type))
    state.index[name] = state.families.count - 1
    return state.families.count - 1
  }

  private func series(_ name: String, _ help: String, _ type: String, _ labels: Labels, make: () -> Source) -> Source {
    state.withLock { state in
      let at = Self.familyIndex(name, help, type, &state)
      var labels = labels
      var key = labels.map { "\($0.name)\u{0}\($0.value)" }.joined(separator: "\u{1}")
      if let known = state.families[at].index[key] { return state.families[at].series[known].source }
      if state.families[at].series.count >= Self.seriesMax, let last = labels.indices.last {
        labels[last].value = "other"
        key = labels.map { "\($0.name)\u{0}\($0.value)" }.joined(separator: "\u{1}")
        if let known = state.families[at].index[key] { return state.families[at].series[known].source }
      }
      let source = make()
      state.families[at].index[key] = state.families[at].series.count
      state.families[at].series.append(Series(labels: labels, source: source))
      return source
    }
  }

  func snapshot() -> [Family] { state.withLock { $0.families } }
}
