import CrashPoints
import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// Each kind of file in each way that it may be damaged: the table is the one in the page about recovery.
  /// `EVENT_RELAY_DAMAGE` chooses the kinds whose name contains it, and has what was found printed.
  @Suite("Damaged files", .enabled(if: CrashPoint.isBuilt))
  struct DamageTests {
    private static let chosen = ProcessInfo.processInfo.environment["EVENT_RELAY_DAMAGE"]

    private struct Round: Sendable {
      var row: DamageTable.Row
      var damage: Damage
    }

    @Test("the relay starts with what is whole, and counts and names what is not; or says plainly why it doesn't")
    func table() async throws {
      let whole = try await DamagedRelay()
      let rows = DamageTable.rows.filter { row in Self.chosen.map { row.kind.contains($0) } ?? true }
      let rounds = rows.flatMap { row in row.damages.map { Round(row: row, damage: $0) } }
      await withTaskGroup(of: Void.self) { group in
        var waiting = rounds[...]
        func add() {
          guard let round = waiting.popFirst() else { return }
          group.addTask { await Self.play(round, whole) }
        }
        for _ in 0..<6 { add() }
        for await _ in group { add() }
      }
    }

    private static func play(_ round: Round, _ whole: DamagedRelay) async {
      let name = "\(round.row.kind), \(round.damage.rawValue)"
      do {
        let relay = round.row.needsOriginal ? try await DamagedRelay() : try DamagedRelay(copyOf: whole)
        let path = try relay.file(round.row.file)
        try round.damage.strike(path, at: round.row.place, in: relay.directory)
        let found = try await relay.start()
        if chosen != nil {
          FileHandle.standardError.write(
            Data(
              "\(name): starts \(found.starts) exit \(found.exitCode ?? -1) taken \(found.taken) lost \(found.lost) corrupt \(found.corruptRecords)\n\(found.said.map { "    \($0)\n" }.joined())"
                .utf8))
        }
        check(found, round, name, path)
        checkOutside(relay, round.damage, name)
      } catch {
        Issue.record("\(name): \(error)")
      }
    }

    private static func check(_ found: DamagedRelay.Found, _ round: Round, _ name: String, _ path: String) {
      let expected = round.row.outcome(of: round.damage)
      switch expected {
      case .starts(let words):
        #expect(found.starts && found.exitCode == 0, "\(name): \(found)")
        #expect(
          words.isEmpty || found.said.contains { $0.contains(words) },
          "\(name) isn't told by \"\(words)\": \(found.said)")
      case .refuses(let words):
        #expect(!found.starts && (found.exitCode == 1 || found.exitCode == 2), "\(name): \(found)")
        #expect(
          found.said.contains {
            $0.contains((path as NSString).lastPathComponent) && (words.isEmpty || $0.contains(words))
          },
          "\(name) isn't told by the file and \"\(words)\": \(found.said)")
        return
      }
      #expect(found.taken + found.lost == DamagedRelay.waiting, "\(name): \(found)")
      #expect(found.lost == 0 || round.row.mayLose, "\(name): \(found)")
      // What the disk did is counted; what somebody took away whole is not the disk's doing.
      if found.lost > 0 {
        #expect(found.said.contains { $0.contains("lost") }, "\(name): \(found)")
      }
    }

    /// Nothing was written through a link.
    private static func checkOutside(_ relay: DamagedRelay, _ damage: Damage, _ name: String) {
      if damage == .elsewhere {
        #expect(readFile(relay.directory.file(Damage.outside)) == Array(Damage.outsideText.utf8), "\(name)")
      }
      #expect(access(relay.directory.file(Damage.missing), F_OK) != 0, "\(name)")
    }
  }
}
