import Clocks
import Testing

/// 2026-10-23T12:05:00Z, a Friday.
private let receivedAt = Timestamp(
  milliseconds: Timestamp.days(year: 2026, month: 10, day: 23) * 86_400_000 + 43_500_000)

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
