import Clocks
import Testing

@Suite("A timestamp")
struct TimestampTests {
  @Test(
    "is written as ISO 8601 in UTC",
    arguments: [
      (Int64(0), "1970-01-01T00:00:00.000Z"), (1_792_757_071_512, "2026-10-23T12:04:31.512Z"),
      (951_782_400_000, "2000-02-29T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"), (-62_167_219_200_001, "-0001-12-31T23:59:59.999Z"),
      (253_402_300_799_999, "9999-12-31T23:59:59.999Z"), (253_402_300_800_000, "+10000-01-01T00:00:00.000Z"),
      (.min, "-292275055-05-16T16:47:04.192Z"), (.max, "+292278994-08-17T07:12:55.807Z"),
    ])
  func written(milliseconds: Int64, text: String) {
    #expect(Timestamp(milliseconds: milliseconds).description == text)
  }

  @Test("finds the day of every date of four centuries again")
  func days() {
    var day = Timestamp.days(year: 1900, month: 1, day: 1)
    let end = Timestamp.days(year: 2300, month: 1, day: 1)
    while day < end {
      let date = Timestamp(milliseconds: day * 86_400_000).calendarDate
      #expect(Timestamp.days(year: date.year, month: date.month, day: date.day) == day)
      day += 1
    }
  }
}
