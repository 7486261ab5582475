import Clocks
import StandIn
import TestSupport
import Testing

@testable import Delivery

@Suite("Budgets")
struct BudgetTests {
  private let start = ContinuousClock.now

  private func at(_ seconds: Double) -> ContinuousClock.Instant { start + .milliseconds(Int64(seconds * 1000)) }

  @Test("events count from the request's start until a minute after its answer")
  func sliding() {
    var count = SlidingCount(parts: 60)
    count.take(100)
    #expect(count.used(at: at(3600)) == 100, "as long as there is no answer")
    #expect(count.room(for: 1, limit: 100, at: at(0)) == .afterAnswers)
    count.settle(100, at: at(30))
    #expect(count.used(at: at(89.9)) == 100)
    #expect(count.room(for: 1, limit: 100, at: at(31)) == .at(at(91)))
    #expect(count.used(at: at(91)) == 0)
    #expect(count.isIdle(at: at(91)))
    count.take(5)
    count.giveBack(5)
    #expect(count.used(at: at(91)) == 0)
  }

  @Test("a count keeps hardly more than what counts, however long it goes on", arguments: [4, 20, 60])
  func keepsLittle(parts: Int) {
    var count = SlidingCount(parts: parts)
    var now = ContinuousClock.now
    var most = 0
    for _ in 0..<parts * 500 {
      now += .seconds(60) / parts / 3
      count.take(1)
      count.settle(1, at: now)
      _ = count.used(at: now)
      most = max(most, count.kept)
    }
    #expect(most <= parts * 3 / 2 + 2)
  }

  @Test("a count that ages by itself never says less than what was really sent in any minute")
  func never() {
    var generator = SeededGenerator(seed: 7)
    var count = SlidingCount(parts: 20)
    var sent: [(Double, Int)] = []
    var now = 0.0
    for _ in 0..<5000 {
      now += Double.random(in: 0..<2, using: &generator)
      let events = Int.random(in: 1...40, using: &generator)
      let real = sent.reversed().prefix { now - $0.0 < 60 }.reduce(0) { $0 + $1.1 }
      let used = count.used(at: at(now))
      #expect(used >= real)
      guard used + events <= 200 else { continue }
      count.take(events)
      count.settle(events, at: at(now))
      sent.append((now, events))
    }
    #expect(sent.count > 1000)
  }

  @Test("room comes when enough has aged")
  func room() {
    var count = SlidingCount(parts: 60)
    for second in 0..<10 {
      count.take(10)
      count.settle(10, at: at(Double(second) * 2))
    }
    #expect(count.room(for: 50, limit: 150, at: at(20)) == .now)
    #expect(count.room(for: 51, limit: 150, at: at(20)) == .at(at(61)))
    #expect(count.room(for: 75, limit: 150, at: at(20)) == .at(at(65)))
  }

  @Test("from half of the limit on, what is on record is ahead of what is sent, by a lease")
  func lease() {
    var budget = KeyBudget(most: 1000)
    #expect(budget.isOnRecord(500, at: at(0)) == true)
    #expect(budget.isOnRecord(501, at: at(0)) == false)
    budget.take(500)
    #expect(budget.lease(at: at(0)) == 600)
    #expect(budget.isOnRecord(100, at: at(0)) == true)
    budget.take(100)
    #expect(budget.isOnRecord(0, at: at(0)) == true)
    #expect(budget.isOnRecord(1, at: at(0)) == false)
    #expect(budget.lease(at: at(1)) == 700)
    #expect(budget.available(at: at(1)) == 400)
    budget.settle(600, at: at(2))
    #expect(budget.close(at: at(3)) == 600)
    var next = KeyBudget(most: 1000, usedBefore: 700, until: at(60))
    #expect(next.available(at: at(1)) == 300)
    #expect(next.available(at: at(61)) == 1000)
  }

  @Test("a limit is learnt downwards at once, and comes back by a tenth a minute")
  func learnt() {
    var limit = LearntLimit(most: 1000, window: .seconds(60))
    #expect(limit.limit(at: at(0)) == 1000)
    limit.refused(used: 400, at: at(0))
    #expect(limit.limit(at: at(0)) == 400)
    #expect(limit.limit(at: at(60)) == 500)
    limit.refused(used: 900, at: at(60))
    #expect(limit.limit(at: at(60)) == 375, "a refusal always lowers it")
    #expect(limit.limit(at: at(60 + 600)) == 1000)
    limit.refused(used: 0, at: at(2000))
    #expect(limit.limit(at: at(2000)) == 10, "never less than a hundredth")
  }

  @Test("an install has its own limit; a blocked one waits, and after two refusals less of it goes at once")
  func installs() {
    var budgets = InstallBudgets(most: 100)
    budgets.take(7, 100)
    budgets.settle(7, 100, at: at(0))
    #expect(budgets.available(7, at: at(1)) == 0)
    #expect(budgets.available(8, at: at(1)) == 100)
    #expect(budgets.room(7, at: at(1)) == .at(at(63)))
    #expect(budgets.available(7, at: at(63)) == 100)
    budgets.refused(8, events: 40, until: at(10))
    #expect(budgets.available(8, at: at(9)) == 0)
    #expect(budgets.available(8, at: at(10)) == 100)
    budgets.refused(8, events: 40, until: at(20))
    #expect(budgets.available(8, at: at(20)) == 20)
    #expect(budgets.available(8, at: at(620)) == 100)
  }

  @Test("installs used longest ago are forgotten at the bound, and begin anew")
  func bound() {
    var budgets = InstallBudgets(most: 10, installsMax: 100)
    for install in 0..<1000 {
      budgets.take(UInt64(install), 10)
      #expect(budgets.count <= 100)
    }
    #expect(budgets.available(999, at: at(0)) == 0)
    #expect(budgets.available(0, at: at(0)) == 10)
  }

  @Test("an install is on record before it uses half of its limit, and has used all of it after a crash")
  func installsOnRecord() {
    var budgets = InstallBudgets(most: 100)
    budgets.take(1, 50)
    #expect(budgets.isOnRecord(1, adding: 0, at: at(0)) == true)
    budgets.take(1, 1)
    #expect(budgets.isOnRecord(1, adding: 0, at: at(0)) == false)
    budgets.putOnRecord(1)
    #expect(budgets.onRecord(at: at(0)) == [1])
    var next = InstallBudgets(most: 100, used: [1], isUnclean: true, until: at(60))
    #expect(next.available(1, at: at(1)) == 0)
    #expect(next.available(2, at: at(1)) == 50, "nobody knows what it has sent: no more than half")
    #expect(next.available(2, at: at(60)) == 100)
    #expect(next.available(1, at: at(63)) == 100)
  }
}
