import Clocks
import Testing

@testable import Dialects

@Suite("How long Voidhash is left alone")
struct VoidhashDelaysTests {
  private let outgoing = OutgoingVoidhash()

  private func wait(
    _ count: Int, rateLimited: Int = 0, is429: Bool = false, asked: Double? = nil, roll: Double = 0,
    _ retry: RetryDelays? = nil
  ) -> Double {
    let asked = asked.map { RetryAfter(delay: .seconds($0)) }
    let failure = FailedTries(
      count: count, rateLimited: rateLimited, isRateLimited: is429, asked: asked, roll: roll)
    return outgoing.wait(after: failure, retry ?? outgoing.defaults.retry).seconds
  }

  @Test("one second, doubling; from the fifth failure on the breaker's 30 s, doubling to 300 s")
  func outage() {
    #expect((1...12).map { wait($0) } == [1, 2, 4, 8, 30, 60, 120, 240, 300, 300, 300, 300])
    #expect(wait(1_000_000) == 300)
  }

  @Test("429s double the delay up to 30 s, and never open the breaker")
  func rateLimited() {
    #expect((1...8).map { wait($0, rateLimited: $0, is429: true) } == [1, 2, 4, 8, 16, 30, 30, 30])
    // Among other failures they don't count, and don't begin anew either.
    #expect(wait(5, rateLimited: 1) == 16)
    #expect(wait(6, rateLimited: 1) == 30)
    #expect(wait(7, rateLimited: 1) == 60)
    #expect(wait(7, rateLimited: 2) == 30)
    #expect(wait(30, rateLimited: 26) == 30, "four failures of them: the longest delay, and no breaker")
    #expect(wait(9, rateLimited: 1, is429: true) == 30, "a 429 waits its own delay, the breaker open or not")
  }

  @Test("jitter adds up to a quarter of the own delay, and nothing to the breaker's or to what is asked for")
  func jitter() {
    #expect(wait(1, roll: 0.5) == 1.125)
    #expect(wait(3, roll: 0.999_999).rounded() == 5)
    #expect(wait(6, rateLimited: 6, is429: true, roll: 1) == 37.5)
    #expect(wait(5, roll: 1) == 30)
    #expect(wait(8, roll: 1) == 240)
    #expect(wait(1, rateLimited: 1, is429: true, asked: 7, roll: 1) == 7)
    for roll in stride(from: 0.0, to: 1.0, by: 0.1) { #expect((4...5).contains(wait(3, roll: roll))) }
    #expect(wait(1, roll: 7) == 1.25)
    #expect(wait(1, roll: -7) == 1)
  }

  @Test("a 429's Retry-After is obeyed; another's holds when it is longer than the own delay")
  func asked() {
    #expect(wait(6, rateLimited: 6, is429: true, asked: 7) == 7)
    #expect(wait(1, rateLimited: 1, is429: true, asked: 30) == 30)
    #expect(wait(1, asked: 20) == 20)
    #expect(wait(4, asked: 3) == 8)
    #expect(wait(7, asked: 20) == 120)
  }

  @Test("\"at once\" is believed once")
  func atOnce() {
    #expect(wait(1, rateLimited: 1, is429: true, asked: 0) == 0)
    #expect(wait(2, rateLimited: 2, is429: true, asked: 0) == 1)
    let quick = RetryDelays(initial: .milliseconds(10), max: .seconds(1), jitter: 0)
    #expect(wait(2, rateLimited: 2, is429: true, asked: 0, quick) == 0.01)
  }

  @Test("the configured delays count; the breaker's are the protocol's")
  func configured() {
    let retry = RetryDelays(initial: .seconds(3), max: .seconds(10), jitter: 0)
    #expect((1...6).map { wait($0, retry) } == [3, 6, 10, 10, 30, 60])
    let slow = RetryDelays(initial: .seconds(60), max: .seconds(3600), jitter: 0)
    #expect((4...6).map { wait($0, slow) } == [480, 960, 1920])
    #expect(wait(3, RetryDelays(initial: .zero, max: .seconds(10), jitter: 0)) == 0)
    #expect(wait(1, RetryDelays(initial: .seconds(20), max: .seconds(10), jitter: 0)) == 10)
  }
}
