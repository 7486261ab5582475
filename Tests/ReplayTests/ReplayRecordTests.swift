import Clocks
import EventLog
import JSON
import Testing

@testable import Replay

@Suite("What is kept of a replay")
struct ReplayRecordTests {
  private func places(_ numbers: [UInt64], file: String = "", reason: Outcome? = nil) -> ReplayPlaces {
    var places = ReplayPlaces()
    for number in numbers { places.add(ReplayPlace(file: file, number: number), reason) }
    return places
  }

  @Test("places are runs of neighbours, of which the first some can be told")
  func runs() throws {
    var all = places([1, 2, 3, 7, 8], file: "a", reason: .rejected)
    all.add(ReplayPlace(file: "a", number: 9), .refused)
    all.add(ReplayPlace(file: "b", number: 1), .refused)
    #expect(all.runs.count == 4)
    #expect(all.count == 7)
    #expect(all.prefix(4).last == ReplayPlace(file: "a", number: 7))
    #expect(all.prefix(4).reasons == Tally(.rejected, 4))
    #expect(all.prefix(0).last == nil)
    #expect(all.prefix(99) == all)
    #expect(all.reasons == Tally([.rejected: 5, .refused: 2]))
    #expect(ReplayPlaces(try JSONValue(parsing: all.json.utf8)) == all)
  }

  @Test("taking notice of a put twice changes nothing")
  func twice() throws {
    var record = ReplayRecord(
      ReplayRequest(destination: "raw", source: .log), begun: Timestamp(milliseconds: 5), logEnd: 100, owed: nil)
    record.sent = 10
    let put = try #require(ReplayPut(record.note(places([11, 12, 15])), stored: 2))
    record.take(put)
    #expect(record.sent == 12 && record.after == ReplayPlace(file: "", number: 12))
    let once = record
    record.take(put)
    #expect(record == once)
    let none = try #require(ReplayPut(record.note(places([20])), stored: 0))
    record.take(none)
    #expect(record == once, "nothing of it was put in")
  }

  @Test("it is read again as it was written")
  func roundTrip() throws {
    var request = ReplayRequest(destination: "raw", source: .archive("/a/b"))
    request.apps = ["ios"]
    request.names = ["ı", "b"]
    request.since = Timestamp(milliseconds: 1)
    request.sinceText = "2h"
    request.rate = 5
    request.sendAs = "kiosk"
    var record = ReplayRecord(request, begun: Timestamp(milliseconds: 5), logEnd: 100, owed: nil)
    record.matched = 4
    record.after = ReplayPlace(file: "x", number: 3)
    record.error = "why"
    record.state = .failed
    #expect(ReplayRecord(try JSONValue(parsing: record.json.utf8)) == record)
    record.resume(request)
    #expect(record.state == .sending && record.error == nil)
    #expect(ReplayRecord(["format": "event-relay-replay", "version": 9]) == nil)
  }

  @Test("the same wish has the same id, however fast it is to be and whenever it is asked")
  func ids() {
    var one = ReplayRequest(destination: "raw", source: .log)
    one.since = Timestamp(milliseconds: 1000)
    one.sinceText = "2h"
    var other = one
    other.since = Timestamp(milliseconds: 9000)
    other.rate = 7
    #expect(one.id == other.id)
    other.sinceText = "3h"
    #expect(one.id != other.id)
    other = one
    other.names = ["paid"]
    #expect(one.id != other.id)
    #expect(one.id.count == 16)
  }

  @Test("a rate is kept without making up for a pause")
  func pace() {
    let start = ContinuousClock.now
    var pace = ReplayPace(rate: 100, from: start)
    #expect(pace.portion(max: 1000) == 20)
    #expect(pace.waiting(max: 20_000) == 100)
    #expect(pace.delay(at: start) == nil)
    pace.sent(20, at: start)
    #expect(pace.delay(at: start) == .milliseconds(200))
    #expect(pace.delay(at: start + .milliseconds(200)) == nil)
    pace.sent(20, at: start + .seconds(60))
    #expect(pace.delay(at: start + .seconds(60)) == .milliseconds(200))
    var none = ReplayPace(rate: nil, from: start)
    none.sent(1_000_000, at: start)
    #expect(none.delay(at: start) == nil && none.portion(max: 1000) == 1000 && none.waiting(max: 50) == 50)
    #expect(ReplayPace(rate: 1, from: start).portion(max: 1000) == 1)
  }
}
