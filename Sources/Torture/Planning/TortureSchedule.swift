/// What is done to the relay, and when: the same for the same seed, length and faults.
public struct TortureSchedule: Sendable, Equatable {
  public struct Step: Sendable, Equatable {
    /// From the run's beginning.
    public var at: Duration
    public var fault: TortureFault
    /// How long what lasts goes on.
    public var length: Duration
    /// For whatever else is to be drawn when its time has come.
    public var roll: UInt64
  }

  /// In the order of their moments.
  public let steps: [Step]

  /// The mean time between two faults of one side, in milliseconds: some in a row and then none are wanted as well.
  private static func pauseMean(_ side: TortureFault.Side) -> Double { side == .peers ? 2500 : 3000 }

  /// At the end nothing more is begun for so long.
  private static let quiet: Duration = .seconds(4)

  /// The shortest run in which each of these faults can happen at least once.
  public static func shortest(_ faults: Set<TortureFault>) -> Duration {
    let most = TortureFault.Side.allCases.map { side in faults.count { $0.side == side } }.max() ?? 0
    return .seconds(max(10, most * 2)) + quiet
  }

  /// Plans a run.
  ///
  /// Each side goes through its faults in a new order again and again, so that each comes about as often as any other.
  ///
  /// - Parameter length: of the part of the run in which faults happen.
  public init(seed: UInt64, length: Duration, faults: Set<TortureFault>) {
    var all: [Step] = []
    for (index, side) in TortureFault.Side.allCases.enumerated() {
      var generator = SeededGenerator(seed: SeededGenerator.mixed(seed &+ UInt64(index) &* 0x5851_F42D))
      let own = TortureFault.allCases.filter { faults.contains($0) && $0.side == side }
      all += Self.steps(own, side, length, &generator)
    }
    steps = all.sorted { ($0.at, $0.fault.rawValue) < ($1.at, $1.fault.rawValue) }
  }

  private static func steps(
    _ faults: [TortureFault], _ side: TortureFault.Side, _ length: Duration, _ generator: inout SeededGenerator
  ) -> [Step] {
    guard !faults.isEmpty else { return [] }
    let end = Double((length - quiet) / .milliseconds(1))
    // All of them fit in, however short the run is.
    let mean = min(pauseMean(side), end / Double(faults.count + 1))
    var steps: [Step] = []
    var at = mean * Double.random(in: 0.3...0.7, using: &generator)
    var left: [TortureFault] = []
    while at < end {
      if left.isEmpty { left = faults.shuffled(using: &generator) }
      let roll = generator.next()
      let lasts = Double.random(in: 300...2200, using: &generator)
      steps.append(
        Step(
          at: .milliseconds(Int(at)), fault: left.removeLast(), length: .milliseconds(Int(lasts)), roll: roll))
      at += mean * Double.random(in: 0.4...1.4, using: &generator)
    }
    return steps
  }
}
