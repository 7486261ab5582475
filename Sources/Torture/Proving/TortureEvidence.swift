/// All that a run has to show for itself: what was sent, what was promised, what is where, and what was done to the relay.
struct TortureEvidence: Sendable {
  var mint: EventMint
  /// By the event's number.
  var entries: [DebtEntry]
  var destinations: [DestinationEvidence]
  /// What went wrong on the way: ends of the relay that nobody caused, answers that must not be.
  var incidents: [String] = []
  /// What the archive's verification found.
  var archiveFaults: [String] = []
  /// What the log's verification found that nobody did.
  var logFaults: [String] = []
  /// Numbers that the relay is to have named as lost and hasn't.
  var unnamedLosses: [UInt64] = []
  /// What was chosen, and how often each came to pass.
  var faults: [TortureFault: Int] = [:]
  /// How many debts a run of this length must at least have made.
  var debtsWanted = 0
}
