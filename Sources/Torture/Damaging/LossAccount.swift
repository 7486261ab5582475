/// What damage may cost each destination: which events, and how many its ledger must call lost. Pure.
struct LossAccount: Sendable, Equatable {
  /// The numbers of events that damage took while they were owed to a destination: these alone may be missing there.
  private(set) var excused: [String: Set<UInt64>] = [:]
  /// How many events each destination's ledger is to count as lost.
  private(set) var expectedLost: [String: Int] = [:]
  /// Events whose records are damaged, with their apps.
  private(set) var damaged: [UInt64: String] = [:]
  /// The run's own number of each event that damage hit.
  private(set) var minted: [UInt64: Int] = [:]
  /// Destinations whose position was put back.
  private(set) var restored: Set<String> = []

  /// An event that a record holds.
  struct Held: Sendable, Equatable {
    var sequence: UInt64
    var app: String
    /// The run's own number of it; nil when nobody can tell.
    var number: Int?
  }

  /// Records are damaged.
  ///
  /// - Parameter owes: whether an event is owed to a destination just now.
  mutating func damage(
    _ events: [Held], destinations: [String], owes: (_ destination: String, _ event: Held) -> Bool
  ) {
    for event in events where damaged[event.sequence] == nil {
      damaged[event.sequence] = event.app
      minted[event.sequence] = event.number
      for destination in destinations where owes(destination, event) {
        excused[destination, default: []].insert(event.sequence)
        expectedLost[destination, default: 0] += 1
      }
    }
  }

  /// A destination's position was put back.
  ///
  /// What it was owed then and the log has no longer is counted as lost, though it was delivered once.
  ///
  /// - Parameters:
  ///   - lost: what the older ledger has as lost.
  ///   - missing: how many of the events owed by the older position are no longer in the log.
  ///   - owesAgain: whether an event of a damaged record is in the log and owed by the older position.
  mutating func restore(_ destination: String, lost: Int, missing: Int, owesAgain: (UInt64, _ app: String) -> Bool) {
    restored.insert(destination)
    expectedLost[destination] = lost + max(0, missing) + damaged.count { owesAgain($0.key, $0.value) }
  }

  /// The run's own numbers of the events that may be missing at a destination.
  func excusedNumbers(_ destination: String) -> Set<Int> {
    Set((excused[destination] ?? []).compactMap { minted[$0] })
  }
}
