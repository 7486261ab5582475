import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("Reloads that overlap")
struct ReloadTurnsTests {
  private final class Gate: Sendable {
    let begun = Fact<[[ReloadTurns.Wish]]>([])
    let open = Fact(false)
    /// How many runs are under way, and how many were at most.
    let inside = Fact((now: 0, most: 0))

    func work(_ wishes: [ReloadTurns.Wish]) async -> ReloadOutcome {
      inside.change { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
      begun.change { $0.append(wishes) }
      await open.wait { $0 }
      inside.change { $0.now -= 1 }
      return ReloadOutcome(applied: ["run \(begun.value.count)"])
    }
  }

  @Test("run one after the other, and those that wait are one, which begins after the one that ran")
  func overlapping() async throws {
    let (turns, gate) = (ReloadTurns(), Gate())
    async let first = turns.take(.reload(by: "a")) { await gate.work($0) }
    await gate.begun.wait { $0.count == 1 }
    let others = (0..<20).map { _ in Task { await turns.take(.reload(by: "b")) { await gate.work($0) } } }
    // (One that runs beside the first waits no more.)
    try await lookAgain { turns.waiting.wishes < 20 && gate.begun.value.count == 1 }
    gate.open.change { $0 = true }
    #expect(await first.applied == ["run 1"])
    for other in others { #expect(await other.value.applied == ["run 2"]) }
    #expect(gate.begun.value == [[.reload(by: "a")], Array(repeating: .reload(by: "b"), count: 20)])
    #expect(gate.inside.value == (now: 0, most: 1))
  }

  @Test("end before the relay does, and none begins afterwards")
  func closing() async throws {
    let (turns, gate) = (ReloadTurns(), Gate())
    async let running = turns.take(.files) { await gate.work($0) }
    await gate.begun.wait { $0.count == 1 }
    let isClosed = Fact(false)
    let closing = Task {
      await turns.close()
      isClosed.change { $0 = true }
      return gate.inside.value.now
    }
    // It waits for the one that runs, or it comes back too early.
    try await lookAgain { turns.waiting.closers == 0 && !isClosed.value }
    #expect(!isClosed.value)
    async let late = turns.take(.files) { await gate.work($0) }
    gate.open.change { $0 = true }
    #expect(await closing.value == 0)
    #expect(await running.applied == ["run 1"])
    #expect(await late == ReloadTurns.closed)
    #expect(await turns.take(.files) { await gate.work($0) } == ReloadTurns.closed)
    await turns.close()
    #expect(gate.begun.value.count == 1)
  }
}
