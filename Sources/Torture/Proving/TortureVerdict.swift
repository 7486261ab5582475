/// What a run proves: a row for each destination, and what is wrong.
public struct TortureVerdict: Sendable, Equatable {
  public struct Row: Sendable, Equatable {
    public var destination: String
    /// Events that were promised to it.
    public var debts = 0
    public var missing = 0
    public var spurious = 0
    public var altered = 0
    /// Times that an event came once more: a fault for files alone.
    public var duplicates = 0
    public var deadLettered = 0
    /// Events that damage done to the log took, and the ledger counts.
    public var lost = 0
    public var isLedgerExact = false
  }

  /// Something that must not be.
  public struct Finding: Sendable, Equatable {
    /// `missing`, `spurious`, `altered`, `duplicate`, `ledger`, `archive`, `log`, `incident` or `vacuous`.
    public var kind: String
    /// What it is about: a destination, or empty.
    public var destination: String
    /// A sentence: which event, what is wrong.
    public var detail: String
    /// Where to look.
    public var place: String
  }

  public var rows: [Row] = []
  /// Those named: the first of each kind and destination.
  public var findings: [Finding] = []
  /// All of them, the unnamed too.
  public var findingCount = 0
  public var isProven: Bool { findingCount == 0 }

  /// How many of one kind at one destination are named.
  private static let namedMax = 5

  mutating func add(_ kind: String, _ destination: String, _ detail: String, at place: String) {
    findingCount += 1
    guard findings.count(where: { $0.kind == kind && $0.destination == destination }) < Self.namedMax else { return }
    findings.append(Finding(kind: kind, destination: destination, detail: detail, place: place))
  }
}
