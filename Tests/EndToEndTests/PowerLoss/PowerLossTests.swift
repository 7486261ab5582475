import Foundation
import PowerLoss
import TestSupport
import Testing

extension EndToEnd {
  /// `EVENT_RELAY_POWER_CUTS` makes more cuts than a test run has time for, `EVENT_RELAY_POWER_SEED` others;
  /// `EVENT_RELAY_POWER_REPEAT` takes up what a failure left: `NOTES:DISK:CUT`, as the failure says.
  @Suite("When the power is cut")
  struct PowerLossTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let cuts = environment["EVENT_RELAY_POWER_CUTS"].flatMap(Int.init) ?? 200
    private static let seed = environment["EVENT_RELAY_POWER_SEED"].flatMap(UInt64.init) ?? 6
    private static let cutsPerRound = 50

    @Test(
      "nothing that was answered is lost, twice, torn or altered, whatever wasn't synced is thrown away, reordered or torn",
      .enabled(if: environment["EVENT_RELAY_POWER_REPEAT"] == nil))
    func nothingIsLost() async throws {
      let rounds = (Self.cuts + Self.cutsPerRound - 1) / Self.cutsPerRound
      let sums = Fact(PowerLossCuts.Sums())
      let next = Fact(Array(0..<rounds))
      // Two at a time: a cut's relay waits more than it works.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<min(2, rounds) {
          group.addTask {
            while let number = next.take() {
              let found = try await Self.round(number)
              sums.change { $0.add(found) }
              if number % 10 == 9 { print("Power cuts so far: \(sums.value.cuts)") }
            }
          }
        }
        try await group.waitForAll()
      }
      let all = sums.value
      print(
        """
        Power cuts: \(all.cuts) (seed \(Self.seed)): \(all.withinSyncs) within a sync, \(all.behindSyncs) behind one, \
        \(all.withinNames) within a change of names, \(all.second) again within recovery; \
        \(all.withinRewritings) within a segment's rewriting, \(all.behindRewritings) behind one; \(all.withinReplays) while \
        replays wrote, \(all.behindReplays) behind one that was said to be done. Events looked for: \(all.debts), sent again: \(all.sentAgain), \
        of which \(all.queued) had been said to be queued. \
        Relays that found a torn write: \(all.tornTails). Unanswered events counted as lost: \(all.countedLost). \(all.losses)
        """)
      #expect(all.cuts >= Self.cuts && all.debts > all.cuts * 100)
      #expect(all.tornTails > 0 && all.second > 0 && all.losses.sectorsLost > 0 && all.losses.namesLost > 0)
      #expect(all.withinReplays > 0 && all.behindReplays > 0 && all.sentAgain > all.queued && all.queued > all.cuts)
      // (Every other round; one that is short is the first.)
      let mustRewrite = (0..<rounds).contains { PowerLossLoad.rewrites(seed: Self.seed &* 1000 &+ UInt64($0)) }
      #expect(!mustRewrite || (all.withinRewritings > 0 && all.behindRewritings > 0))
      #expect(all.losses.sectorsTorn > 0 && all.losses.sectorsGarbage > 0 && all.losses.sizesLost > 0)
    }

    /// Records a round and takes its cuts.
    private static func round(_ number: Int) async throws -> PowerLossCuts.Sums {
      let round = try await PowerLossRound.record(seed: seed &* 1000 &+ UInt64(number))
      let gaps = try round.gaps()
      #expect(gaps.isEmpty, "the shim misses changes of files")
      var cuts = PowerLossCuts(round)
      var numbers = Array(0..<min(cutsPerRound, Self.cuts - number * cutsPerRound))[...]
      while let cut = numbers.popFirst() ?? next(after: cuts, round) {
        guard let failure = try await cuts.cut(cut) else { continue }
        round.place.disk.keep()
        round.place.notes.keep()
        let kept = "\(round.place.notes.path):\(round.place.disk.path):\(cut)"
        Issue.record(
          "seed \(seed), round \(number), \(failure)\nagain: EVENT_RELAY_POWER_REPEAT=\(kept) swift test --filter PowerLossTests"
        )
        return cuts.sums
      }
      return cuts.sums
    }

    /// A further cut, aimed at what hasn't come about by chance.
    private static func next(after cuts: PowerLossCuts, _ round: PowerLossRound) -> Int? {
      let aim = PowerLossAim.allCases.first { $0.isWanted(cuts.sums, rewrites: round.place.rewrites) }
      guard let aim, cuts.sums.aimed[aim, default: 0] < PowerLossAim.tries else { return nil }
      return aim.number(cuts.sums.aimed[aim, default: 0])
    }

    @Test("a cut that went wrong goes wrong again", .enabled(if: environment["EVENT_RELAY_POWER_REPEAT"] != nil))
    func again() async throws {
      let words = (Self.environment["EVENT_RELAY_POWER_REPEAT"] ?? "").split(separator: ":").map(String.init)
      try #require(words.count == 3, "NOTES:DISK:CUT is what the failure said")
      var cuts = PowerLossCuts(try PowerLossRound(kept: words[0], disk: words[1]))
      let failure = try await cuts.cut(try #require(Int(words[2])))
      #expect(failure == nil)
    }

    @Test(
      "a loss is found where a disk lies about its syncs, or the relay doesn't sync before it answers",
      .enabled(if: environment["EVENT_RELAY_POWER_REPEAT"] == nil),
      arguments: [("files", "fsync"), ("directories", "fsync"), ("", "os")])
    func lossesAreFound(lie: String, durability: String) async throws {
      let spoilt = PowerLossRound.Spoiling(lie: lie.isEmpty ? nil : lie, durability: durability)
      let round = try await PowerLossRound.record(seed: Self.seed, spoilt: spoilt)
      var cuts = PowerLossCuts(round)
      for attempt in 0..<PowerLossAim.tries {
        // (A disk that has lost all that it promised may have nothing left that a relay starts on.)
        let cut = attempt.isMultiple(of: 2) ? attempt : PowerLossAim.lostWrite.number(attempt)
        if let failure = try await cuts.cut(cut), failure.faults.contains(where: { $0.contains("missing") }) { return }
      }
      Issue.record("\(PowerLossAim.tries) cuts, and no event is missed")
    }
  }
}
