import JSON

/// What a run has to say at its end.
public struct TortureReport: Sendable {
  public var verdict: TortureVerdict
  public var seed: UInt64
  /// How long it took, with the proof.
  public var length: Duration
  /// Where its evidence is, unless it was removed.
  public var directory: String
  public var isDirectoryKept: Bool
  /// By the fault's name, how often it came to pass.
  public var faults: [(name: String, count: Int)]
  public var minted: Int
  public var debts: Int
  public var requests: Int
  public var unanswered: Int
  public var refused: Int

  init(
    _ verdict: TortureVerdict, _ evidence: TortureEvidence, options: TortureOptions, directory: String,
    counts: EventSenders.Counts, length: Duration
  ) {
    self.verdict = verdict
    seed = options.seed
    self.length = length
    self.directory = directory
    isDirectoryKept = options.keepsDirectory || !verdict.isProven
    faults = TortureFault.allCases.compactMap { fault in evidence.faults[fault].map { (fault.rawValue, $0) } }
    minted = evidence.entries.count
    debts = evidence.entries.count { $0.isOwed }
    (requests, unanswered, refused) = (counts.requests, counts.unanswered, counts.refused)
  }

  public var json: JSONValue {
    [
      "proven": .bool(verdict.isProven), "seed": JSONValue(seed), "seconds": JSONValue(length / .seconds(1), digits: 1),
      "directory": isDirectoryKept ? .string(directory) : .null, "minted": JSONValue(minted),
      "debts": JSONValue(debts), "requests": JSONValue(requests), "unanswered": JSONValue(unanswered),
      "refused": JSONValue(refused),
      "faults": .object(faults.map { .init($0.name, JSONValue($0.count)) }),
      "destinations": .array(
        verdict.rows.map { row in
          [
            "name": .string(row.destination), "debts": JSONValue(row.debts), "missing": JSONValue(row.missing),
            "spurious": JSONValue(row.spurious), "altered": JSONValue(row.altered),
            "duplicates": JSONValue(row.duplicates), "dead_lettered": JSONValue(row.deadLettered),
            "lost": JSONValue(row.lost), "ledger_exact": .bool(row.isLedgerExact),
          ]
        }),
      "finding_count": JSONValue(verdict.findingCount),
      "findings": .array(
        verdict.findings.map { finding in
          [
            "kind": .string(finding.kind), "destination": .string(finding.destination),
            "detail": .string(finding.detail), "place": .string(finding.place),
          ]
        }),
    ]
  }
}
