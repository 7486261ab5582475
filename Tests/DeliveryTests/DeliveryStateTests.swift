import Clocks
import Dialects
import EventLog
import Testing

@testable import Delivery

@Suite("What a lane does next")
struct DeliveryStateTests {
  private let now = ContinuousClock.now
  private let wallNow = Timestamp(milliseconds: 1_792_757_071_512)
  private let limits = BatchLimits(events: 100, bytes: 1 << 20)
  private let upstream = DialectRegistry.usual.outgoing
  private let delays = UpstreamConfiguration.Retry(jitter: 0).delays

  private func facts(_ pending: Int, lingerLeft: Duration = .seconds(1)) -> LaneFacts {
    LaneFacts(now: now, pendingEvents: pending, lingerUntil: now + lingerLeft)
  }

  private func delay(_ length: Duration) -> LaneDelay {
    LaneDelay(length: length, state: .waiting, detail: "", now: now, wallNow: wallNow)
  }

  @Test("nothing without events")
  func nothing() {
    var state = DeliveryState()
    #expect(state.decide(facts(0), limits) == .nothing)
    #expect(state.isFresh)
  }

  @Test("lingers with a few, sends a full batch, and what has lingered")
  func linger() {
    var state = DeliveryState()
    #expect(state.decide(facts(99), limits) == .wait(until: now + .seconds(1)))
    #expect(state.decide(facts(100), limits) == .send(.onward))
    #expect(state.decide(facts(1, lingerLeft: .zero), limits) == .send(.onward))
    var skipping = facts(1)
    skipping.skipsLinger = true
    #expect(state.decide(skipping, limits) == .send(.onward))
    var perhapsFull = facts(50)
    perhapsFull.fullFrom = 50
    #expect(state.decide(perhapsFull, limits) == .sendIfFull)
  }

  @Test("holds without a key, whatever else there is")
  func hold() {
    var state = DeliveryState()
    state.wait(delay(.seconds(5)), from: now)
    var facts = facts(100)
    facts.isHeld = true
    #expect(state.decide(facts, limits) == .hold)
  }

  private func events(_ numbers: UInt64...) -> EventRanges {
    var events = EventRanges()
    for number in numbers { events.append(number, follows: false) }
    return events
  }

  @Test("no flush and no full batch skips a delay")
  func delayed() {
    var state = DeliveryState()
    state.again = [Portion(events: events(7), attempts: 1)]
    _ = state.failed(upstream, delays, retryAfter: nil, isRateLimited: false, roll: 0)
    state.wait(delay(.seconds(30)), from: now)
    var facts = facts(500)
    facts.skipsLinger = true
    #expect(state.decide(facts, limits) == .wait(until: now + .seconds(30)))
    facts.now = now + .seconds(30)
    #expect(state.decide(facts, limits) == .send(.again))
    #expect(state.record(of: .app("ios"), app: "ios")?.failures == 1)
    #expect(state.record(of: .app("ios"), app: "ios")?.attempts == 1)
    state.again = []
    state.underWay.began(1, nil)
    #expect(state.decide(facts, limits) == .waitForAnswer)
    #expect(state.record(of: .app("ios"), app: "ios")?.failures == 1, "still on record while the next try is under way")
    state.underWay.ended(1, nil)
    state.answered(now + .seconds(30))
    #expect(state.isFresh)
    #expect(state.record(of: .app("ios"), app: "ios") == nil)
  }

  @Test("what was sent before a failure came neither ends its delay nor counts as one more")
  func oldNews() {
    var state = DeliveryState(concurrency: 8)
    _ = state.failed(upstream, delays, retryAfter: nil, isRateLimited: false, roll: 0)
    state.wait(delay(.seconds(30)), from: now)
    state.answered(now - .milliseconds(1))
    #expect(state.delay != nil)
    #expect(!state.isNews(now - .milliseconds(1)))
    #expect(state.isNews(now))
    #expect(state.requestsMax == 1)
  }

  @Test("counts that can't be right have the lane read anew")
  func readAnew() {
    var state = DeliveryState()
    for number in 1...5 { state.parked.park(1, UInt64(number), room: .afterAnswers) }
    #expect(state.decide(facts(5, lingerLeft: .zero), limits) == .readAnew)
    state.forgetHeld()
    #expect(state.decide(facts(5, lingerLeft: .zero), limits) == .send(.onward))
  }

  @Test("a restored wait is the shorter of what is left by the wall clock and the whole of it")
  func restored() {
    func left(retryIn: Duration, wait: Duration) -> Duration {
      let record = UpstreamRecord.LaneRecord(
        app: "ios", retryAt: wallNow + retryIn, wait: wait, failures: 3, attempts: 4, state: .foreign, detail: "d")
      let state = DeliveryState(restored: record, now: now, wallNow: wallNow)
      #expect(state.failures == 3)
      #expect(state.record(of: .app("ios"), app: "ios")?.attempts == 4)
      return (state.delay?.until ?? now) - now
    }
    #expect(left(retryIn: .seconds(20), wait: .seconds(60)) == .seconds(20))
    #expect(left(retryIn: .seconds(-20), wait: .seconds(60)) == .zero)
    #expect(left(retryIn: .seconds(86_400), wait: .seconds(60)) == .seconds(60))
  }

  @Test("moments come out in order, and only when they are due")
  func deadlines() {
    var queue = DeadlineQueue<Int>()
    var numbers: [Int] = Array(0..<200)
    numbers.shuffle()
    for number in numbers { queue.add(now + .seconds(number), number) }
    #expect(queue.earliest == now)
    #expect(queue.take(dueAt: now - .seconds(1)) == nil)
    var taken: [Int] = []
    while let entry = queue.take(dueAt: now + .seconds(149)) { taken.append(entry.subject) }
    #expect(taken == Array(0..<150))
    #expect(queue.count == 50)
  }

  @Test("what is on record comes back as it was; what is damaged is left out")
  func record() throws {
    var record = UpstreamRecord(url: "http://a.test")
    record.lanes = [
      UpstreamRecord.LaneRecord(
        app: "ios", retryAt: wallNow, wait: .seconds(60), failures: 2, attempts: 3, state: .foreign, detail: "a \"b\"")
    ]
    #expect(try UpstreamRecord(record.json) == record)
    #expect(try UpstreamRecord(nil) == UpstreamRecord())
    let damaged = try UpstreamRecord(["url": 7, "lanes": [["app": "x"], 7], "dead_letters": "no"])
    #expect(damaged == UpstreamRecord())
  }

  @Test(
    "a base means the same with and without /v1 and slashes",
    arguments: ["http://a.test", "http://a.test/", "http://a.test/v1", "http://a.test/v1/", "http://a.test//"])
  func base(url: String) {
    #expect(UpstreamConfiguration(url: url).base == "http://a.test")
  }

  @Test("a base keeps its own path")
  func basePath() {
    #expect(UpstreamConfiguration(url: "http://a.test/in/v1/").base == "http://a.test/in")
    #expect(UpstreamConfiguration(url: "http://a.test/dev1").base == "http://a.test/dev1")
  }
}
