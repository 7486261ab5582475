import Clocks
import EventLog
import HTTPClient
import Testing

@testable import Sinks

@Suite("A webhook's state")
struct WebhookStateTests {
  /// A state on simulated time, monotonic and wall.
  private struct Simulation {
    var state = WebhookState()
    var now = ContinuousClock.now
    var wall = Timestamp(milliseconds: 1_792_757_071_512)
    var retry = WebhookRetry(initial: .seconds(5), max: .seconds(3600), giveUpAfter: .seconds(3 * 86_400))

    mutating func pass(_ time: Duration) {
      now += time
      wall = wall + time
    }

    /// Waits as long as it must, sends, and gets the answer at once.
    mutating func attempt(_ verdict: WebhookVerdict, roll: Double = 1) -> WebhookState.Consequence {
      if let moment = state.mayAttempt(at: now) { pass(moment - now) }
      state.attempted(at: now)
      return state.answered(verdict, retry, now: now, wallNow: wall, roll: roll)
    }

    var wait: Duration { state.mayAttempt(at: now).map { $0 - now } ?? .zero }

    /// The process ends and comes back after so long, with another monotonic clock.
    mutating func restart(after time: Duration = .zero, wall shift: Duration = .zero) {
      let record = state.record(wallNow: wall)
      now += .seconds(1_000_000)
      wall = wall + time + shift
      state = record.map { WebhookState(restored: $0, now: now, wallNow: wall) } ?? WebhookState()
    }
  }

  private static let fault = WebhookVerdict.retry(.fault(status: 503), after: nil)
  private static func fault(after seconds: Int) -> WebhookVerdict {
    .retry(.fault(status: 503), after: RetryAfter(delay: .seconds(seconds)))
  }
  private static let refusal = WebhookVerdict.refused(status: 400, message: "no")

  @Test("waits a random part of delays that double from the first to the longest")
  func delays() {
    var it = Simulation()
    it.retry.max = .seconds(60)
    var most: [Duration] = []
    for _ in 0..<7 {
      #expect(it.attempt(Self.fault) == .kept)
      most.append(it.wait)
    }
    #expect(most == [5, 10, 20, 40, 60, 60, 60].map { .seconds($0) })
    #expect(it.attempt(Self.fault, roll: 0.25) == .kept)
    #expect(it.wait == .seconds(15))
    // Not at once, whatever the roll is.
    #expect(it.attempt(Self.fault, roll: 0) == .kept)
    #expect(it.wait == WebhookRetry.floor)
    #expect(it.attempt(.delivered) == .delivered)
    #expect(it.state == WebhookState())
    it.retry.initial = .milliseconds(20)
    #expect(it.attempt(Self.fault, roll: 0) == .kept)
    #expect(it.wait == .milliseconds(20))
  }

  @Test("waits no less than the receiver asks for, and its own delay when that is longer")
  func retryAfter() {
    var it = Simulation()
    _ = it.attempt(Self.fault(after: 60), roll: 0.1)
    #expect(it.wait == .seconds(60))
    _ = it.attempt(Self.fault(after: 3), roll: 1)
    #expect(it.wait == .seconds(10))
  }

  @Test("opens the circuit with the fifth failure in a row, over batches, and says so")
  func circuit() throws {
    var it = Simulation()
    for count in 1...4 {
      #expect(it.attempt(count == 2 ? Self.refusal : Self.fault) != .delivered)
      #expect(!it.state.isOpen)
      #expect(it.state.notice?.detail.contains("circuit") == false)
    }
    _ = it.attempt(Self.fault)
    #expect(it.state.isOpen)
    #expect(try #require(it.state.notice).detail.contains("failure 5 in a row: the circuit is open"))
    #expect(it.attempt(.delivered) == .delivered)
    #expect(!it.state.isOpen && it.state.notice == nil)
  }

  @Test("buries refused batches one after the other until the circuit opens; then one a delay")
  func refusals() {
    var it = Simulation()
    for count in 1...4 {
      #expect(it.attempt(Self.refusal) == .buried(WebhookBurial(.refused, status: 400, message: "no", 1)))
      #expect(it.wait == .zero, "\(count)")
      #expect(it.state.notice?.state == .refused)
    }
    _ = it.attempt(Self.refusal)
    #expect(it.wait == .seconds(80))
    _ = it.attempt(Self.refusal)
    #expect(it.wait == .seconds(160))
    #expect(it.attempt(.delivered) == .delivered)
    #expect(
      it.attempt(.refused(status: 413, message: nil)) == .buried(WebhookBurial(.tooLarge, status: 413, message: nil, 1))
    )
    #expect(it.wait == .zero)
  }

  @Test("gives a batch up after its time, with the last answer, and begins to count anew with the next")
  func givesUp() {
    var it = Simulation()
    it.retry = WebhookRetry(initial: .seconds(3600), max: .seconds(3600), giveUpAfter: .seconds(3 * 3600))
    #expect(it.attempt(Self.fault) == .kept)
    #expect(it.attempt(Self.fault) == .kept)
    #expect(it.attempt(Self.fault) == .kept)
    let detail = WebhookTrouble.fault(status: 503).detail
    #expect(it.attempt(Self.fault) == .buried(WebhookBurial(.gaveUp, status: 503, message: detail, 4)))
    // The receiver is no better for it: the next batch waits its turn.
    #expect(it.wait == .seconds(3600))
    #expect(it.attempt(Self.fault) == .kept)
    #expect(it.state.attempts == 1)
  }

  @Test("gives nothing up for a clock that jumps while it runs, and counts the time it didn't run")
  func givingUpClocks() {
    var it = Simulation()
    it.retry.giveUpAfter = .seconds(86_400)
    #expect(it.attempt(Self.fault) == .kept)
    it.wall = it.wall + .seconds(400 * 86_400)
    #expect(it.attempt(Self.fault) == .kept)
    it.restart(after: .seconds(3600))
    #expect(it.attempt(Self.fault) == .kept)
    #expect(it.state.attempts == 3)
    it.restart(wall: .seconds(-1_000_000))
    #expect(it.attempt(Self.fault) == .kept)
    it.restart(after: .seconds(86_400))
    // One more attempt is made, however long nobody was there to make it.
    guard case .buried(let burial) = it.attempt(Self.fault) else {
      Issue.record("not given up")
      return
    }
    #expect(burial.reason == .gaveUp && burial.attempts == 5)
  }

  @Test("keeps delays, failures and what it says over a restart")
  func restart() {
    var it = Simulation()
    for _ in 0..<6 { _ = it.attempt(Self.fault) }
    let (notice, wait) = (it.state.notice, it.wait)
    #expect(wait == .seconds(160))
    it.restart(after: .seconds(60))
    #expect(it.wait == .seconds(100))
    #expect(it.state.notice == notice && it.state.isOpen && it.state.attempts == 6)
    // Never longer than the whole, should the clock be set back.
    it.restart(wall: .seconds(-86_400))
    #expect(it.wait == .seconds(160))
    it.restart(after: .seconds(86_400))
    #expect(it.wait == .zero)
    #expect(it.attempt(Self.fault) == .kept)
    #expect(it.wait == .seconds(320))
    _ = it.attempt(.delivered)
    #expect(it.state.record(wallNow: it.wall) == nil)
  }

  @Test("stops at a 410 until the configuration is read again, or a restart")
  func gone() {
    var it = Simulation()
    #expect(it.attempt(.gone) == .kept)
    #expect(it.state.isGone && it.state.notice?.state == .gone)
    #expect(it.state.notice?.detail.contains("410") == true)
    it.state.reloaded()
    #expect(!it.state.isGone && it.state.notice == nil && it.wait == .zero)
    #expect(it.attempt(.gone) == .kept)
    it.restart()
    #expect(!it.state.isGone && it.state.attempts == 2)
    #expect(it.attempt(.delivered) == .delivered)
    // A reload shortens no delay.
    _ = it.attempt(Self.fault)
    it.state.reloaded()
    #expect(it.wait == .seconds(5))
  }
}
