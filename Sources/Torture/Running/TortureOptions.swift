/// What a run is told.
public struct TortureOptions: Sendable {
  /// How long faults are made; the proof comes after it.
  public var length: Duration = .seconds(120)
  /// The run makes a directory of its own in this one, and touches nothing else.
  public var parent = "."
  public var seed: UInt64
  public var faults = Set(TortureFault.allCases)
  /// The run's directory stays though all is well.
  public var keepsDirectory = false
  public var senders = 4

  public init(seed: UInt64) { self.seed = seed }
}

/// What a run tells on its way.
public enum TortureNews: Sendable {
  case began(directory: String)
  /// How much of the time is over, 0 to 1; events promised so far.
  case progress(share: Double, debts: Int, faults: Int)
  /// A fault was made; what of it is worth knowing.
  case fault(TortureFault, at: Duration, detail: String)
  /// What is waited for, or looked at.
  case stage(String)
}
