import Clocks
import EventLog
import TestSupport
import Testing

@testable import EventLog

@Suite("Waiting events by their date")
struct AgeingTests {
  let directory = TemporaryDirectory()

  @Test("are counted over segments, apps and restarts, without those that are settled")
  func counts() throws {
    let fixture = LogFixture(directory: directory.path)
    var log = try fixture.open()
    var upstream = try log.subscribe("upstream", origin: .oldest)
    // An event's date is its serial number in seconds; small segments hold a few frames each.
    for i in 0..<60 { log.put(app: "app\(i % 3)", i * 3..<i * 3 + 3) }
    #expect(fixture.tuning.isInline && log.statistics.segments > 3)
    func older(than serial: Int) throws -> Int? {
      try upstream.pendingEvents(datedBefore: Timestamp(milliseconds: Int64(serial) * 1000))
    }
    #expect(try older(than: 0) == 0)
    #expect(try older(than: 100) == 100)
    #expect(try older(than: 1000) == 180)
    // The third frame of app0: serials 18…20, numbers 19…21.
    upstream.acknowledge(.app("app0"), 19...21, Tally(.delivered, 3))
    #expect(try older(than: 20) == 18)
    #expect(try older(than: 100) == 97)
    try upstream.commit(attachment: .none)
    log.close()

    log = try fixture.open()
    upstream = try log.subscribe("upstream", origin: .oldest)
    #expect(try older(than: 100) == 97)
    upstream.acknowledge(.app("app0"), 1...180, Tally(.delivered, 57))
    #expect(try older(than: 1000) == 120)
    log.close()
  }
}
