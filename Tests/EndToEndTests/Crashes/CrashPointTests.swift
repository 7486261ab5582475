import CrashPoints
import Foundation
import TestSupport
import Testing

extension EndToEnd {
  /// Before, in the middle of, and after whatever changes a file, the process is killed, once at each; the next one has to
  /// make it good. `EVENT_RELAY_CRASH_SCENE` and `EVENT_RELAY_CRASH_POINT` choose one scene and one place.
  @Suite("Killed at each place where a file is changed", .enabled(if: CrashPoint.isBuilt))
  struct CrashPointTests {
    private static let chosenScene = ProcessInfo.processInfo.environment["EVENT_RELAY_CRASH_SCENE"]
    private static let chosenPoint = ProcessInfo.processInfo.environment["EVENT_RELAY_CRASH_POINT"]
    private static let roundsAtOnce = 6

    private struct Round: Sendable {
      var scene: CrashScene
      /// A place, or `PLACE#TIME`.
      var end: String
    }

    @Test("the relay loses and repeats nothing, wherever it dies")
    func everywhere() async throws {
      let scenes = CrashScene.all.filter { Self.chosenScene == nil || $0.name == Self.chosenScene }
      var reached: Set<String> = []
      var rounds: [Round] = []
      for (scene, outcome) in try await discover(scenes) {
        let times = Dictionary(outcome.reached.map { ($0, 1) }, uniquingKeysWith: +)
        for (point, count) in times.sorted(by: { $0.key < $1.key }) where reached.insert(point).inserted {
          rounds.append(Round(scene: scene, end: point))
          if count >= 4, Self.isHot(point) { rounds.append(Round(scene: scene, end: "\(point)#\(count / 2)")) }
        }
      }
      if Self.chosenScene == nil {
        #expect(reached.filter { $0.hasPrefix("unknown:") } == [], "these files are in no table")
        #expect(reached.subtracting(CrashTable.points).sorted() == [], "reached, and not declared")
        #expect(CrashTable.points.subtracting(reached).sorted() == [], "declared, and not reached")
      }
      if let point = Self.chosenPoint { rounds = rounds.filter { $0.end == point } }
      await play(rounds)
    }

    /// Whether a later time may find what the first doesn't: kinds of files that are written to all the time.
    private static func isHot(_ point: String) -> Bool {
      ["segment.", "position.", "lines.", "letters.", "open-archive.", "manifest.", "ids."].contains {
        point.hasPrefix($0)
      }
    }

    /// Each scene once without a death.
    private func discover(_ scenes: [CrashScene]) async throws -> [(CrashScene, CrashOutcome)] {
      try await withThrowingTaskGroup(of: (Int, CrashOutcome).self) { group in
        for (at, scene) in scenes.enumerated() { group.addTask { (at, try await scene.run(to: nil)) } }
        var outcomes: [Int: CrashOutcome] = [:]
        for try await (at, outcome) in group { outcomes[at] = outcome }
        return scenes.enumerated().compactMap { at, scene in outcomes[at].map { (scene, $0) } }
      }
    }

    /// Some rounds at a time, each on a relay of its own.
    private func play(_ rounds: [Round]) async {
      var missed: [String] = []
      await withTaskGroup(of: String?.self) { group in
        var waiting = rounds[...]
        func add() {
          guard let round = waiting.popFirst() else { return }
          group.addTask { await Self.play(round) }
        }
        for _ in 0..<Self.roundsAtOnce { add() }
        for await end in group {
          if let end { missed.append(end) }
          add()
        }
      }
      // A place comes as often as threads meet: a later time not always. The first time does.
      #expect(missed.filter { !$0.contains("#") } == [])
      #expect(missed.count * 5 <= rounds.count { $0.end.contains("#") }, "\(missed)")
      print("killed at \(rounds.count - missed.count) of \(rounds.count) places and times")
    }

    /// - Returns: the place, when the relay never came there.
    private static func play(_ round: Round) async -> String? {
      do {
        return try await round.scene.run(to: round.end).hasDied ? nil : round.end
      } catch {
        Issue.record("\(round.scene.name), dead at \(round.end): \(error)")
        return nil
      }
    }
  }
}
