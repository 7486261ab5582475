import TestSupport
import Testing

@testable import EventLog

@Suite("Rewritten segments")
struct SlicingTests {
  let directory = TemporaryDirectory()

  @Test("take over only what is owed of a request, as of one install that is parked, and are left alone then")
  func parked() throws {
    var fixture = LogFixture(directory: directory.path)
    fixture.tuning.rewriteAtOnce()
    fixture.configuration.segmentSize = 64 * 1024
    var log = try fixture.open()
    var lanes = try log.subscribe("upstream", origin: .oldest)
    // Requests of 100 events, two of them of an install that waits.
    for i in 0..<20 { log.put(app: i % 2 == 0 ? "ios" : "web", i * 100..<i * 100 + 100, size: 80) }
    #expect(try lanes.readAll(.app("ios")).count + lanes.readAll(.app("web")).count == 2000)
    func isParked(_ number: UInt64) -> Bool { number % 100 == 41 || number % 100 == 77 }
    for i in 0..<20 {
      let (first, app) = (UInt64(i * 100), Lane.app(i % 2 == 0 ? "ios" : "web"))
      lanes.acknowledge(app, first + 1...first + 40, Tally(.delivered, 40))
      lanes.acknowledge(app, first + 42...first + 76, Tally(.delivered, 35))
      lanes.acknowledge(app, first + 78...first + 100, Tally(.delivered, 23))
    }
    try lanes.commit(attachment: nil)
    let before = log.statistics
    log.maintainInline()
    let after = log.statistics
    let active = after.segments > 1 ? log.catalog.activeEnd : 0
    #expect(after.sizeBytes - active < (before.sizeBytes - active) / 5, "\(before) \(after)")
    #expect(try LogInspection.verify(directory.path).damages.isEmpty)
    // Nothing has changed: no segment is rewritten once more.
    let lives = log.catalog.all.map(\.life)
    log.maintainInline()
    #expect(log.catalog.all.map(\.life) == lives)
    lanes.rewind(.app("ios"))
    lanes.rewind(.app("web"))
    func waiting(_ subscription: any Subscription) throws -> [UInt64] {
      (try subscription.readAll(.app("ios"), events: 7) + subscription.readAll(.app("web"), events: 7)).map(\.sequence)
        .sorted()
    }
    let parked = (1...2000 as ClosedRange<UInt64>).filter(isParked)
    #expect(try waiting(lanes) == parked)
    log.close()
    log = try fixture.open()
    lanes = try log.subscribe("upstream", origin: .oldest)
    #expect(lanes.ledger == Ledger(accepted: 2000, settled: Tally(.delivered, 1960), waiting: 40))
    #expect(try waiting(lanes) == parked)
  }

  @Test("keep the first number of each event that is sent again")
  func replays() throws {
    var fixture = LogFixture(directory: directory.path)
    fixture.tuning.rewriteAtOnce()
    fixture.tuning.holdsReplays = true
    fixture.configuration.segmentSize = 8192
    let log = try fixture.open()
    let queue = try log.subscribe("queue", origin: .oldest)
    for i in 0..<10 {
      let serials = i * 50..<i * 50 + 50
      let originals = serials.flatMap { serial in withUnsafeBytes(of: UInt64(serial + 7000).littleEndian) { Array($0) }
      }
      Drafts.with(serials: serials, size: 60, envelope: originals + [1, 2, 3]) { log.append($0) { _ in } }
      log.syncInline()
    }
    #expect(try queue.readAll(.all).count == 500)
    for i in 0..<10 {
      let first = UInt64(i * 50)
      queue.acknowledge(.all, first + 1...first + 30, Tally(.delivered, 30))
      queue.acknowledge(.all, first + 33...first + 50, Tally(.delivered, 18))
    }
    try queue.commit(attachment: nil)
    let before = log.statistics.sizeBytes
    log.maintainInline()
    #expect(log.statistics.sizeBytes < before / 2)
    queue.rewind(.all)
    let events = try queue.readAll(.all)
    let numbers = (1...500 as ClosedRange<UInt64>).filter { [31, 32].contains($0 % 50) }
    #expect(events.map(\.sequence) == numbers)
    #expect(events.map(\.original) == numbers.map { Optional($0 + 6999) })
  }
}
