import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("Reloads that overlap")
struct ReloadTurnsTests {
  private final class Gate: Sendable {
    let begun = Fact<[[ReloadTurns.Wish]]>([])
    let open = Fact(false)

    func work(_ wishes: [ReloadTurns.Wish]) async -> ReloadOutcome {
      begun.change { $0.append(wishes) }
      await open.wait { $0 }
      return ReloadOutcome(applied: ["run \(begun.value.count)"])
    }
  }

  @Test("run one after the other, and those that wait are one, which begins after the one that ran")
  func overlapping() async {
    let (turns, gate) = (ReloadTurns(), Gate())
    async let first = turns.take(.reload(by: "a")) { await gate.work($0) }
    await gate.begun.wait { $0.count == 1 }
    let waiting = Fact(0)
    let others = Task {
      await withTaskGroup(of: ReloadOutcome.self) { group in
        for _ in 0..<20 {
          group.addTask {
            // (Those wishes are made while the first one runs: it is let go only below.)
            async let outcome = turns.take(.reload(by: "b")) { await gate.work($0) }
            waiting.change { $0 += 1 }
            return await outcome
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
    }
    await waiting.wait { $0 == 20 }
    gate.open.change { $0 = true }
    #expect(await first.applied == ["run 1"])
    let outcomes = await others.value
    #expect(outcomes.count == 20)
    let runs = gate.begun.value
    #expect(runs[0] == [.reload(by: "a")])
    #expect(runs.dropFirst().reduce(0) { $0 + $1.count } == 20)
  }

  @Test("end before the relay does, and none begins afterwards")
  func closing() async {
    let (turns, gate) = (ReloadTurns(), Gate())
    async let running = turns.take(.files) { await gate.work($0) }
    await gate.begun.wait { $0.count == 1 }
    let isClosed = Fact(false)
    let closing = Task {
      await turns.close()
      isClosed.change { $0 = true }
    }
    #expect(!isClosed.value)
    gate.open.change { $0 = true }
    await closing.value
    #expect(await running.applied == ["run 1"])
    #expect(await turns.take(.files) { await gate.work($0) } == ReloadTurns.closed)
    await turns.close()
    #expect(gate.begun.value.count == 1)
  }
}
