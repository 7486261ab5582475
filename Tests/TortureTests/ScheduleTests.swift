import Testing

@testable import Torture

@Suite("The schedule of a torture run")
struct ScheduleTests {
  private static let all = Set(TortureFault.allCases)

  @Test("the same seed gives the same moments, faults and parameters; another one gives others")
  func replays() {
    let first = TortureSchedule(seed: 42, length: .seconds(120), faults: Self.all)
    #expect(first == TortureSchedule(seed: 42, length: .seconds(120), faults: Self.all))
    #expect(first != TortureSchedule(seed: 43, length: .seconds(120), faults: Self.all))
  }

  @Test("each chosen fault is in it, and no other, however short the run is", arguments: 0..<50)
  func holdsEach(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let chosen = Set(
      TortureFault.allCases.shuffled(using: &generator).prefix(Int.random(in: 1...18, using: &generator)))
    let schedule = TortureSchedule(seed: seed, length: TortureSchedule.shortest(chosen), faults: chosen)
    #expect(Set(schedule.steps.map(\.fault)) == chosen)
    let moments = schedule.steps.map(\.at)
    #expect(moments == moments.sorted() && moments.allSatisfy { $0 >= .zero })
  }

  @Test("two minutes have each fault several times", arguments: 0..<20)
  func severalTimes(seed: UInt64) {
    let steps = TortureSchedule(seed: seed, length: .seconds(120), faults: Self.all).steps
    for fault in TortureFault.allCases { #expect(steps.count { $0.fault == fault } >= 2, "\(fault)") }
  }
}
