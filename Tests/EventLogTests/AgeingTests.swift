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
      try upstream.pendingEvents(datedBefore: Timestamp(milliseconds: Int64(serial) * 1000)) { _ in true }
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

  @Test("the earliest of them is found, whatever order they came in, and without those that are settled")
  func earliest() throws {
    let fixture = LogFixture(directory: directory.path)
    var log = try fixture.open()
    var upstream = try log.subscribe("upstream", origin: .oldest)
    #expect(try upstream.earliestPendingDate { _ in true } == nil)
    // Frame i holds the dates (59 - i) * 3… in seconds: the later it came, the earlier it is dated.
    for i in 0..<60 { log.put(app: "app\(i % 3)", (59 - i) * 3..<(59 - i) * 3 + 3) }
    #expect(log.statistics.segments > 3)
    func date(_ serial: Int) -> Timestamp { Timestamp(milliseconds: Int64(serial) * 1000) }
    #expect(try upstream.earliestPendingDate { _ in true } == date(0))
    // The last frame, app2's, but for its last event, with number 180 and date 2.
    upstream.acknowledge(.app("app2"), 178...179, Tally(.delivered, 2))
    #expect(try upstream.earliestPendingDate { _ in true } == date(2))
    try upstream.commit(attachment: .none)
    log.close()

    log = try fixture.open()
    upstream = try log.subscribe("upstream", origin: .oldest)
    #expect(try upstream.earliestPendingDate { _ in true } == date(2))
    upstream.acknowledge(.app("app2"), 180...180, Tally(.delivered, 1))
    #expect(try upstream.earliestPendingDate { _ in true } == date(3))
    // All of app1 and app2 is settled: app0's last frame was the 58th.
    upstream.acknowledge(.app("app1"), 1...180, Tally(.delivered, 60))
    upstream.acknowledge(.app("app2"), 1...180, Tally(.delivered, 57))
    #expect(try upstream.earliestPendingDate { _ in true } == date(6))
    upstream.acknowledge(.app("app0"), 1...180, Tally(.delivered, 60))
    #expect(try upstream.earliestPendingDate { _ in true } == nil)
    log.close()
  }

  @Test("a lane's numbers of those dated before a moment come in order, no more than asked for")
  func numbers() throws {
    let fixture = LogFixture(directory: directory.path)
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    for i in 0..<60 { log.put(app: "app\(i % 3)", i * 3..<i * 3 + 3) }
    func older(than serial: Int, dialect: UInt8 = 0, atMost limit: Int = 1000) throws -> [UInt64] {
      try upstream.pendingNumbers(
        .app("app1"), datedBefore: Timestamp(milliseconds: Int64(serial) * 1000), ofDialects: { $0 == dialect },
        atMost: limit)
    }
    // Serial n has number n + 1; app1's frames are the second, the fifth…
    #expect(try older(than: 3).isEmpty)
    #expect(try older(than: 14) == [4, 5, 6, 13, 14])
    #expect(try older(than: 1000).count == 60)
    #expect(try older(than: 1000, atMost: 4) == [4, 5, 6, 13])
    #expect(try older(than: 1000, dialect: 1).isEmpty)
    upstream.acknowledge(.app("app1"), 5...13, Tally(.delivered, 3))
    #expect(try older(than: 15) == [4, 14, 15])
    #expect(
      try upstream.pendingNumbers(
        .app("nobody"), datedBefore: Timestamp(milliseconds: .max), ofDialects: { _ in true }, atMost: 9
      ).isEmpty)
    log.close()
  }
}
