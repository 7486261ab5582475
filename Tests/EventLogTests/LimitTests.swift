import TestSupport
import Testing

@testable import EventLog

@Suite("A log's limits")
struct LimitTests {
  let directory = TemporaryDirectory()

  @Test("may change while it is open: more room lets events in again, less keeps what there is")
  func change() throws {
    var fixture = LogFixture(directory: directory.path)
    fixture.configuration = FileLogConfiguration(segmentSize: 4096, maxSize: 16 << 10, minFreeDisk: 0)
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    var count: UInt64 = 0
    while log.health == .ok, count < 1000 {
      log.put(Int(count)..<Int(count) + 1, size: 200)
      count += 1
    }
    #expect(log.health == .full)
    let stored = upstream.pending.events
    var limits = fixture.configuration
    limits.maxSize = 1 << 20
    log.setLimits(from: limits)
    log.put(2000..<2001, size: 200)
    #expect(log.health == .ok)
    #expect(upstream.pending.events == stored + 1)
    #expect(log.statistics.maxSizeBytes == 1 << 20)
    limits.maxSize = 8 << 10
    log.setLimits(from: limits)
    #expect(upstream.pending.events == stored + 1)
    limits.minFreeDisk = 1 << 50
    log.setLimits(from: limits)
    guard case .diskFull = log.health else {
      Issue.record("min_free_disk isn't taken: \(log.health)")
      return
    }
  }
}
