import Clocks
import Testing

@testable import EventsAPI

private func parse(_ text: String) -> String? {
  withPadded(Array(text.utf8)) { OccurredAt.parse($0)?.description }
}

@Suite("occurred_at")
struct OccurredAtTests {
  @Test(
    "is read in every form of ISO 8601 with a time zone",
    arguments: [
      ("2026-10-23T12:00:00.123Z", "2026-10-23T12:00:00.123Z"), ("2026-10-23T12:00:00Z", "2026-10-23T12:00:00.000Z"),
      ("2026-10-23t12:00:00z", "2026-10-23T12:00:00.000Z"), ("2026-10-23 12:00:00Z", "2026-10-23T12:00:00.000Z"),
      ("2026-10-23T12:00:00+03:00", "2026-10-23T09:00:00.000Z"),
      ("2026-10-23T12:00:00+0300", "2026-10-23T09:00:00.000Z"),
      ("2026-10-23T12:00:00+03", "2026-10-23T09:00:00.000Z"), ("2026-10-23T12:00:00-03:30", "2026-10-23T15:30:00.000Z"),
      ("2026-10-23T12:00:00-0330", "2026-10-23T15:30:00.000Z"), ("2026-10-23T23:00:00-02", "2026-10-24T01:00:00.000Z"),
      ("2026-01-01T00:30:00+01:00", "2025-12-31T23:30:00.000Z"),
      ("2026-10-23T12:00:00-00:00", "2026-10-23T12:00:00.000Z"),
      ("2026-10-23T12:00:00.1Z", "2026-10-23T12:00:00.100Z"), ("2026-10-23T12:00:00.12Z", "2026-10-23T12:00:00.120Z"),
      ("2026-10-23T12:00:00.123999999999999999999Z", "2026-10-23T12:00:00.123Z"),
      ("2026-10-23T12:00:00.0004+01:00", "2026-10-23T11:00:00.000Z"),
      ("2026-10-23T12:00:00,5Z", "2026-10-23T12:00:00.500Z"),
      ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00.000Z"), ("2026-12-31T23:59:60.5Z", "2027-01-01T00:00:00.500Z"),
      ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"), ("2000-02-29T00:00:00Z", "2000-02-29T00:00:00.000Z"),
      ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z"), ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
      ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"), ("2026-10-23T12:00Z", "2026-10-23T12:00:00.000Z"),
      ("2026-10-23T12:34+01:00", "2026-10-23T11:34:00.000Z"),
    ])
  func readable(_ text: String, _ moment: String) { #expect(parse(text) == moment) }

  @Test(
    "is unparsable otherwise",
    arguments: [
      "", "now", "2026-10-23", "2026-10-23T12:00:00", "2026-10-23T12:00:00.123", "2026-10-23T12:00:00.Z",
      "2026-10-23T12:00:00.",
      "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-02-30T00:00:00Z", "2026-04-31T00:00:00Z",
      "2026-06-31T00:00:00Z",
      "2026-09-31T00:00:00Z", "2026-11-31T00:00:00Z", "2026-01-32T00:00:00Z", "2026-13-01T00:00:00Z",
      "2026-00-01T00:00:00Z",
      "2026-01-00T00:00:00Z", "2026-10-23T24:00:00Z", "2026-10-23T12:60:00Z", "2026-10-23T12:00:61Z",
      "2026-10-23T12:00:00+24:00",
      "2026-10-23T12:00:00+03:60", "2026-10-23T12:00:00+3", "2026-10-23T12:00:00+03:0", "2026-10-23T12:00:00+030",
      "2026-10-23T12:00:00+03:00:00", "2026-10-23T12:00:00+03000", "2026-10-23T12:00:00Z ", " 2026-10-23T12:00:00Z",
      "2026-10-23T12:00:00ZZ", "2026-10-23T12:00:00 Z", "2026-10-23T12:00:00 +03:00", "2026-10-23_12:00:00Z",
      "2026/10/23T12:00:00Z",
      "2026-10-23T12.00.00Z", "20261023T120000Z", "26-10-23T12:00:00Z", "+2026-10-23T12:00:00Z", "2026-1-23T12:00:00Z",
      "2026-10-23T1:00:00Z", "2026-10-23T12:00:0Z", "2026-10-23T12:00:Z", "2026-10-23T-1:00:00Z", "1761220800",
      "2026-10-23T12:00:00.12a3Z", "2026-10-23T12:00:00GMT", "2026-10-23T12:00:00\u{2212}03:00", "２026-10-23T12:00:00Z",
      "2026-10-23T12:00:00+", "2026-10-23T12:00:00+\u{0}3:00", "2026-10-23\u{34}12:00:00Z", "2026-10-23T12:00+",
    ])
  func unreadable(_ text: String) { #expect(parse(text) == nil) }

  @Test("is read at any length, spelled in escapes or not", arguments: [1, 107, 108, 109, 300, 2000])
  func long(_ digits: Int) {
    let fraction = String(repeating: "7", count: digits)
    for zone in ["Z", #"\u005a"#] {
      #expect(EventText().with("occurred_at", #""2026-10-23T12:04:31.\#(fraction)\#(zone)""#).code == nil)
    }
  }

  @Test("is read where its text is cut anywhere, without looking past its end")
  func truncated() {
    let text = Array("2026-10-23T12:00:00.123+03:00".utf8)
    let whole: Set = [26, 29]
    for length in 0...text.count {
      // Exactly so many bytes, not one more: a read past them is one past the allocation.
      let exact = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 1)
      defer { exact.deallocate() }
      exact.copyBytes(from: text[..<length])
      #expect((OccurredAt.parse(UnsafeRawBufferPointer(exact)) != nil) == whole.contains(length))
    }
  }

  @Test("agrees with the calendar for every day of 500 years")
  func everyDay() {
    var day = Timestamp.days(year: 1890, month: 1, day: 1)
    let last = Timestamp.days(year: 2390, month: 1, day: 1)
    while day < last {
      let moment = Timestamp(milliseconds: day * 86_400_000 + 1)
      guard parse(moment.description) == moment.description else {
        Issue.record("\(moment)")
        return
      }
      day += 1
    }
  }

  @Test(
    "as a member: missing, not a string, with escapes",
    arguments: [
      (nil, .invalidTimestamp), ("null", .invalidTimestamp), ("1761220800", .invalidTimestamp),
      (#""""#, .invalidTimestamp),
      (#""2026-10-23T12:00:00""#, .invalidTimestamp), (#""2026-10-23T12:00:00\u005a""#, nil),
      (#""\u0032026-10-23T12\u003A00:00\u002b00:00""#, nil), (#""2026-10-23T12:00:00Z\u0000""#, .invalidTimestamp),
    ] as [(String?, RejectionCode?)])
  func member(_ value: String?, _ code: RejectionCode?) {
    #expect(EventText().with("occurred_at", value).code == code)
  }

  @Test(
    "is clamped outside of seven days back and five minutes ahead",
    arguments: [
      (0, false), (300_000, false), (300_001, true), (-604_800_000, false), (-604_800_001, true),
      (-50_000_000_000, true),
    ] as [(Int64, Bool)])
  func clamping(_ offset: Int64, _ isClamped: Bool) throws {
    let sent = Timestamp(milliseconds: receivedAt.milliseconds + offset)
    let body = "{\"events\":[\(EventText().with("occurred_at", "\"\(sent)\"").text)]}"
    let reading = read(body)
    let event = try #require(reading.accepted.first)
    #expect(event.isClamped == isClamped)
    #expect(event.occurredAt == sent)
    #expect(reading.clamped == (isClamped ? [ClampedEvent(event)] : []))
    // While the clock is known to be wrong no event is judged by it.
    let unjudged = read(body, judgesTime: false)
    #expect(unjudged.clamped == [])
    #expect(unjudged.accepted.first?.isClamped == false)
  }
}
