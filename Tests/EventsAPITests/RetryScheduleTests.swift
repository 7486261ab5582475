import Clocks
import Testing

@testable import EventsAPI

@Suite("The schedule of retries")
struct RetryScheduleTests {
  @Test("doubles from 30 to 600 seconds and begins again after another answer")
  func doubling() {
    var schedule = RetrySchedule(jitter: 0)
    #expect(
      (0..<8).map { _ in schedule.delay(roll: 0.5) } == [30, 60, 120, 240, 480, 600, 600, 600].map { .seconds($0) })
    schedule.reset()
    #expect(schedule.delay(roll: 0.5) == .seconds(30))
  }

  @Test("obeys a 429's Retry-After, and goes on doubling behind it")
  func rateLimited() {
    var schedule = RetrySchedule()
    #expect(schedule.delay(isRateLimited: true, roll: 0) == .seconds(30))
    #expect(schedule.delay(retryAfter: RetryAfter(delay: .seconds(7)), isRateLimited: true, roll: 1) == .seconds(7))
    #expect(schedule.delay(retryAfter: RetryAfter(delay: .zero), isRateLimited: true, roll: 1) == .seconds(1))
    #expect(schedule.delay(roll: 0) == .seconds(240))
  }

  @Test("believes a 429 that says at once, but not twice in a row")
  func atOnce() {
    func delays(_ initial: Duration) -> [Duration] {
      var schedule = RetrySchedule(initial: initial)
      let delays = (0..<3).map { _ in
        schedule.delay(retryAfter: RetryAfter(delay: .zero), isRateLimited: true, roll: 1)
      }
      schedule.reset()
      return delays + [schedule.delay(retryAfter: RetryAfter(delay: .zero), isRateLimited: true, roll: 1)]
    }
    #expect(delays(.seconds(30)) == [.zero, .seconds(1), .seconds(1), .zero])
    #expect(delays(.milliseconds(50)) == [.zero, .milliseconds(50), .milliseconds(50), .zero])
  }

  @Test("takes the longer of its own delay and the server's otherwise")
  func longer() {
    var schedule = RetrySchedule()
    #expect(schedule.delay(retryAfter: RetryAfter(delay: .seconds(20)), roll: 0) == .seconds(30))
    #expect(schedule.delay(retryAfter: RetryAfter(delay: .seconds(900)), roll: 0) == .seconds(900))
    #expect(schedule.delay(retryAfter: RetryAfter(delay: .seconds(121)), roll: 1) == .seconds(132))
  }

  @Test("is the table in its description")
  func table() {
    var schedule = RetrySchedule(jitter: 0)
    func after(_ seconds: Int64?) -> RetryAfter? { seconds.map { RetryAfter(delay: .seconds($0)) } }
    let rows: [(retryAfter: Int64?, isRateLimited: Bool, wait: Int64)] = [
      (nil, false, 30), (nil, false, 60), (7, true, 7), (20, false, 240), (nil, true, 480), (nil, false, 600),
      (nil, false, 600),
      (nil, false, 600), (900, false, 900),
    ]
    for row in rows {
      let wait = schedule.delay(retryAfter: after(row.retryAfter), isRateLimited: row.isRateLimited, roll: 0)
      #expect(wait == .seconds(row.wait))
    }
  }

  @Test("only ever adds jitter", arguments: [0.0, 0.1, 0.5, 0.999, 1])
  func jitter(_ roll: Double) {
    var schedule = RetrySchedule(jitter: 0.1)
    for base in [30, 60, 120, 240, 480, 600, 600] as [Double] {
      let delay = schedule.delay(roll: roll)
      #expect(abs(delay.seconds - base * (1 + 0.1 * roll)) < 0.001)
    }
  }

  @Test("stands any settings and any number of failures")
  func extremes() {
    var schedule = RetrySchedule(initial: .milliseconds(1), max: .seconds(1_000_000_000), jitter: 0, failures: .max - 1)
    #expect(schedule.delay(roll: 0) <= .seconds(1_000_000_000))
    schedule = RetrySchedule(initial: .seconds(50), max: .seconds(20), jitter: 0, failures: -3)
    #expect(schedule.delay(roll: 0) == .seconds(20))
    schedule = RetrySchedule(initial: .zero, max: .zero, jitter: 0, failures: 5)
    #expect(schedule.delay(roll: 0) == .zero)
  }
}
