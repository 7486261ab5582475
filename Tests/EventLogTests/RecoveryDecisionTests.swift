import Testing

@testable import EventLog

@Suite("The recovery table")
struct RecoveryDecisionTests {
  struct Row: CustomTestStringConvertible {
    var found: RecoveryDecision.Found
    var frameFollows: Bool?
    var belowSynced: Bool?
    var decision: RecoveryDecision
    var testDescription: String { "\(found), follows: \(frameFollows as Any), below: \(belowSynced as Any)" }
  }

  /// As it stands in the comment of `RecoveryDecision`; nil is "any".
  static let table = [
    Row(found: .frame, frameFollows: nil, belowSynced: nil, decision: .keep),
    Row(found: .broken, frameFollows: true, belowSynced: true, decision: .damage),
    Row(found: .broken, frameFollows: true, belowSynced: false, decision: .damage),
    Row(found: .broken, frameFollows: false, belowSynced: true, decision: .damage),
    Row(found: .broken, frameFollows: false, belowSynced: false, decision: .cutTornTail),
    Row(found: .nothing, frameFollows: true, belowSynced: nil, decision: .damage),
    Row(found: .nothing, frameFollows: false, belowSynced: true, decision: .damage),
    Row(found: .nothing, frameFollows: false, belowSynced: false, decision: .end),
  ]

  @Test("decides as its rows say", arguments: table)
  func rows(row: Row) {
    for follows in row.frameFollows.map({ [$0] }) ?? [true, false] {
      for below in row.belowSynced.map({ [$0] }) ?? [true, false] {
        #expect(RecoveryDecision.decide(row.found, frameFollows: follows, belowSynced: below) == row.decision)
      }
    }
  }

  @Test("covers every case once")
  func complete() {
    for found in [RecoveryDecision.Found.frame, .broken, .nothing] {
      for follows in [true, false] {
        for below in [true, false] {
          let rows = Self.table.filter {
            $0.found == found && $0.frameFollows ?? follows == follows && $0.belowSynced ?? below == below
          }
          #expect(rows.count == 1)
        }
      }
    }
  }
}
