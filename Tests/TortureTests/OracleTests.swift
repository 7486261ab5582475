import Clocks
import Testing

@testable import Torture

@Suite("The oracle of a torture run")
struct OracleTests {
  private static let names = ["upstream", "raw", "audit", "hook"]

  /// Evidence of a run of 100 events in which all went well.
  private func evidence() -> TortureEvidence {
    let mint = EventMint(seed: 7, start: Timestamp(milliseconds: 1_796_000_000_000))
    var entries: [DebtEntry] = []
    for number in 0..<100 {
      var entry = DebtEntry(sent: 1)
      if mint.kind(number) == .invalid { entry.isRejected = true } else { entry.accepted = 1 }
      entries.append(entry)
    }
    let owed = entries.indices.filter { entries[$0].isOwed }
    var all: [DestinationEvidence] = []
    for name in Self.names {
      let role: DestinationEvidence.Role = name == "upstream" ? .upstream : name == "hook" ? .webhook : .files
      var found = DestinationEvidence(name: name, role: role, place: "/there/\(name)")
      var ledger = DestinationEvidence.Ledger()
      ledger.accepted = owed.count
      for number in owed {
        if role == .upstream, mint.kind(number) == .unwanted {
          found.deadLetters[number] = 1
          ledger.deadLettered += 1
        } else {
          found.copies[number] = 1
          ledger.delivered += 1
        }
      }
      found.lines = role == .files ? owed.count : 0
      found.ledger = ledger
      all.append(found)
    }
    // What a sender was never told, and the upstream has twice: allowed.
    all[0].copies[0] = 2
    return TortureEvidence(
      mint: mint, entries: entries, destinations: all, faults: [.kill: 3, .reset: 2], debtsWanted: 90)
  }

  private func kinds(_ change: (inout TortureEvidence) -> Void) -> Set<String> {
    var changed = evidence()
    change(&changed)
    return Set(TortureOracle.judge(changed).findings.map { "\($0.kind) \($0.destination)" })
  }

  @Test("a run in which all is well is proven, and its rows say what was there")
  func allWell() {
    let verdict = TortureOracle.judge(evidence())
    #expect(verdict.isProven, "\(verdict.findings)")
    #expect(verdict.rows.map(\.destination) == Self.names)
    #expect(verdict.rows.allSatisfy { $0.debts == 96 && $0.missing == 0 && $0.isLedgerExact })
    #expect(verdict.rows[0].duplicates == 1 && verdict.rows[0].deadLettered == 2)
  }

  @Test("an event that is missing is named with its id and where it should be", arguments: 0..<4)
  func missing(at index: Int) throws {
    var changed = evidence()
    changed.destinations[index].copies[20] = nil
    let finding = try #require(TortureOracle.judge(changed).findings.first { $0.kind == "missing" })
    #expect(finding.destination == Self.names[index])
    #expect(finding.detail.contains(changed.mint.id(20)))
    #expect(finding.place == "/there/\(Self.names[index])")
  }

  @Test("one that damage took may be missing where it was owed, and only there")
  func excused() {
    #expect(
      !kinds {
        $0.destinations[1].copies[20] = nil
        $0.destinations[1].excused = [20]
      }.contains("missing raw"))
    #expect(
      kinds {
        $0.destinations[2].copies[20] = nil
        $0.destinations[1].excused = [20]
      }.contains("missing audit"))
  }

  @Test("a dead letter that isn't there is missing; one that nobody refused is spurious")
  func deadLetters() {
    #expect(kinds { $0.destinations[0].deadLetters[13] = nil }.contains("missing upstream"))
    #expect(kinds { $0.destinations[0].deadLetters[20] = 1 }.contains("spurious upstream"))
    #expect(kinds { $0.destinations[0].deadLetters[13] = 2 }.contains("duplicate upstream"))
  }

  @Test("an event that was given up as poison is where it belongs, but only where the script answered with 5xx")
  func poison() {
    func given(_ faults: [TortureFault: Int]) -> Set<String> {
      kinds {
        $0.faults = faults
        $0.destinations[0].copies[20] = nil
        $0.destinations[0].deadLetters[20] = 1
        $0.destinations[0].poisoned = [20]
        $0.destinations[0].ledger?.delivered -= 1
        $0.destinations[0].ledger?.deadLettered += 1
      }
    }
    #expect(given([.error: 1]).isEmpty)
    #expect(given([.reset: 1]) == ["missing upstream", "spurious upstream"])
  }

  @Test("what was rejected, never sent or never minted is spurious wherever it is", arguments: 0..<4)
  func spurious(at index: Int) {
    let name = "spurious \(Self.names[index])"
    #expect(kinds { $0.destinations[index].copies[27] = 1 }.contains(name))
    #expect(kinds { $0.destinations[index].copies[5000] = 1 }.contains(name))
    #expect(
      kinds {
        $0.entries[20] = DebtEntry()
        $0.destinations[index].copies[20] = 1
      }.contains(name))
    #expect(kinds { $0.destinations[index].notes.add(.init(id: "x", detail: "nobody minted it")) }.contains(name))
  }

  @Test("other bytes are altered; another time only where no line says that it counts", arguments: 0..<4)
  func altered(at index: Int) {
    let name = "altered \(Self.names[index])"
    #expect(
      kinds { $0.destinations[index].notes.add(.init(number: 3, id: "x", detail: "bytes", isAltered: true)) }
        .contains(name))
    #expect(kinds { $0.destinations[index].notes.clamped[3] = ["2026-11-30T00:00:00.000Z"] }.contains(name))
    #expect(
      kinds {
        $0.destinations[index].notes.clamped[3] = ["2026-11-30T00:00:00.000Z"]
        $0.destinations[1].timesUsed[3] = ["2026-11-30T00:00:00.000Z"]
      }.isEmpty)
  }

  @Test("a number that stands twice, or an event more often than it was sent, is a duplicate in a file, and only there")
  func duplicates() {
    #expect(kinds { $0.destinations[1].repeated = [17] }.contains("duplicate raw"))
    #expect(kinds { $0.destinations[2].copies[20] = 2 }.contains("duplicate audit"))
    #expect(
      !kinds {
        $0.destinations[2].copies[20] = 2
        $0.entries[20].sent = 2
      }.contains("duplicate audit"))
    #expect(kinds { $0.destinations[3].copies[20] = 2 }.isEmpty)
  }

  @Test("a ledger that is off by one in any column is wrong", arguments: 0..<4)
  func ledgers(at index: Int) {
    let name = "ledger \(Self.names[index])"
    let columns: [WritableKeyPath<DestinationEvidence.Ledger, Int> & Sendable] = [
      \.accepted, \.replayed, \.delivered, \.waiting, \.deadLettered, \.filtered, \.dropped, \.lost,
    ]
    for column in columns {
      let found = kinds { $0.destinations[index].ledger?[keyPath: column] += 1 }
      #expect(found.contains(name), "\(column)")
    }
    // One that balances, and is wrong all the same.
    let shifted = kinds {
      $0.destinations[index].ledger?.delivered -= 1
      $0.destinations[index].ledger?.lost += 1
    }
    #expect(shifted.contains(name))
    #expect(kinds { $0.destinations[index].ledger = nil }.contains(name))
  }

  @Test("what damage took and a file has all the same isn't lost there, and must be counted as delivered")
  func keptInFiles() {
    let name = "ledger \(Self.names[1])"
    func found(_ change: (inout DestinationEvidence) -> Void) -> Bool {
      kinds {
        $0.destinations[1].keptInFiles = 2
        $0.destinations[1].expectedLost += 2
        change(&$0.destinations[1])
      }.contains(name)
    }
    #expect(!found { _ in })
    #expect(
      found {
        $0.ledger?.lost += 2; $0.ledger?.delivered -= 2
      })
    // A position that was put back: what it finds behind it isn't lost, and what it doesn't find may be.
    #expect(!found { $0.wasRestored = true })
    #expect(
      !found {
        $0.wasRestored = true; $0.ledger?.lost += 2; $0.ledger?.delivered -= 2
      })
    #expect(
      found {
        $0.wasRestored = true; $0.ledger?.lost += 3; $0.ledger?.delivered -= 3
      })
    #expect(
      found {
        $0.wasRestored = true; $0.lines = 0
      })
  }

  @Test("faults of the archive and the log, losses that aren't named and what went wrong on the way are findings")
  func theRest() {
    #expect(kinds { $0.archiveFaults = ["a line differs"] }.contains("archive audit"))
    #expect(kinds { $0.logFaults = ["a record"] }.contains("log "))
    #expect(kinds { $0.unnamedLosses = [9] }.contains("log "))
    #expect(kinds { $0.incidents = ["the relay ended by itself"] }.contains("incident "))
  }

  @Test("a run in which a fault never happened, little was promised, or nothing came twice proves nothing")
  func vacuous() {
    #expect(kinds { $0.faults[.pause] = 0 }.contains("vacuous "))
    #expect(kinds { $0.debtsWanted = 97 }.contains("vacuous "))
    #expect(kinds { $0.destinations[0].copies[0] = 1 }.contains("vacuous "))
  }

  @Test("only the first few of a kind are named, and all are counted")
  func counted() {
    var changed = evidence()
    changed.destinations[1].repeated = Array(1...50)
    let verdict = TortureOracle.judge(changed)
    #expect(verdict.findingCount == 50 && verdict.findings.count == 5)
  }
}
