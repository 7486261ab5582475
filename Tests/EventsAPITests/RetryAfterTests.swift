import Clocks
import Testing

@testable import EventsAPI

/// 2026-10-23T12:05:00Z, a Friday.
private func parse(_ values: String...) -> RetryAfter? { RetryAfter.parse(headerValues: values, now: receivedAt) }

@Suite("Retry-After")
struct RetryAfterTests {
  @Test(
    "is read as seconds, a fraction rounded up",
    arguments: [
      ("0", 0), ("7", 7), (" 120\t", 120), ("007", 7), ("1.2", 2), ("1.0", 1), ("1.000", 1), ("0.0001", 1),
      ("3600", 3600),
    ] as [(String, Int64)])
  func seconds(_ value: String, _ seconds: Int64) { #expect(parse(value) == RetryAfter(delay: .seconds(seconds))) }

  @Test(
    "is read as an HTTP date in all three forms, the past being 0",
    arguments: [
      ("Fri, 23 Oct 2026 12:06:40 GMT", 100), ("Friday, 23-Oct-26 12:06:40 GMT", 100),
      ("Fri Oct 23 12:06:40 2026", 100),
      ("fri, 23 oct 2026 12:06:40 gmt", 100), ("Fri, 23 Oct 2026 12:05:00 GMT", 0),
      ("Fri, 23 Oct 2026 12:04:59 GMT", 0),
      ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sunday, 06-Nov-94 08:49:37 GMT", 0), ("Sun Nov  6 08:49:37 1994", 0),
      ("Fri, 23 Oct 2026 12:05:60 GMT", 60), ("Saturday, 23-Oct-77 12:06:40 GMT", 0),
    ] as [(String, Int64)])
  func dates(_ value: String, _ seconds: Int64) { #expect(parse(value) == RetryAfter(delay: .seconds(seconds))) }

  @Test(
    "is cut to an hour",
    arguments: [
      "3601", "3600.5", "86400", "99999999999999999999999999", "Fri, 23 Oct 2026 13:05:01 GMT",
      "Fri, 30 Oct 2026 12:05:00 GMT",
      "Fri, 31 Dec 9999 23:59:59 GMT", "Monday, 01-Jan-29 00:00:00 GMT",
    ])
  func cut(_ value: String) { #expect(parse(value) == RetryAfter(delay: .seconds(3600), wasCut: true)) }

  @Test(
    "is unreadable otherwise",
    arguments: [
      "", " ", "-1", "+5", "soon", "1e3", "5s", "1.", ".5", "1.2.3", "1,5", "0x10", "５", "1 2", "Infinity",
      "2026-10-23T12:06:40Z",
      "Fri, 23 Oct 2026 12:06:40", "Fri, 23 Oct 2026 12:06:40 CET", "Fri, 23 Oct 2026 24:06:40 GMT",
      "Fri, 31 Sep 2026 12:06:40 GMT",
      "Fri, 00 Oct 2026 12:06:40 GMT", "Fri, 23 Okt 2026 12:06:40 GMT", "Xyz, 23 Oct 2026 12:06:40 GMT",
      "Fri, 23 Oct 26 12:06:40 GMT",
      "Fri 23 Oct 2026 12:06:40 GMT", "Fri, 23-Oct-26 12:06:40 GMT", "Fri, 3 Oct 2026 12:06:40 GMT",
      "Fri Oct 23 12:06 2026",
      "Friday, 23-Oct-2026 12:06:40 GMT", "Fri, 29 Feb 2027 00:00:00 GMT",
    ])
  func unreadable(_ value: String) { #expect(parse(value) == nil) }

  @Test("of several the longest counts, those that can't be read for nothing")
  func several() {
    #expect(RetryAfter.parse(headerValues: [], now: receivedAt) == nil)
    #expect(parse("5", "60", "7")?.delay == .seconds(60))
    #expect(parse("5", "Fri, 23 Oct 2026 12:06:40 GMT")?.delay == .seconds(100))
    #expect(parse("soon", "5")?.delay == .seconds(5))
    #expect(parse("soon", "-5") == nil)
    #expect(parse("5", "9999") == RetryAfter(delay: .seconds(3600), wasCut: true))
  }
}

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
