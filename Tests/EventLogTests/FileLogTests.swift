import Clocks
import EventLog
import Observability
import TestSupport
import Testing

@testable import EventLog

@Suite("The file log")
struct FileLogTests {
  let directory = TemporaryDirectory()
  var fixture: LogFixture { LogFixture(directory: directory.path) }

  @Test("hands out what was stored, to the byte")
  func roundTrip() throws {
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    #expect(log.put(0..<3) == .stored(first: 1))
    #expect(log.put(app: "android", 3..<5) == .stored(first: 4))
    #expect(upstream.ledger == Ledger(accepted: 5, settled: Tally(), waiting: 5))
    #expect(Set(upstream.readyLanes()) == [.app("ios"), .app("android")])
    #expect(try upstream.readAll(.app("ios")).map(\.sequence) == [1, 2, 3])
    #expect(try upstream.readAll(.app("android")).map(\.sequence) == [4, 5])
    #expect(upstream.readyLanes().isEmpty)
    #expect(upstream.pending(.app("ios")).events == 3)
    upstream.acknowledge(.app("ios"), 1...3, Tally(.delivered, 3))
    #expect(upstream.pending == Pending(events: 2, oldestReceivedAt: Timestamp(milliseconds: 1_800_000_000_000)))
    #expect(upstream.ledger.isBalanced)
    log.close()
  }

  @Test("goes on after a restart where the positions say")
  func restart() throws {
    var log = try fixture.open()
    var upstream = try log.subscribe("upstream", origin: .oldest)
    for i in 0..<40 { #expect(log.put(app: i % 2 == 0 ? "a" : "b", i * 3..<i * 3 + 3) != nil) }
    upstream.acknowledge(.app("a"), 1...30, Tally(.delivered, 15))
    try upstream.commit(attachment: ["file": 3])
    upstream.acknowledge(.app("a"), 31...60, Tally(.delivered, 15))
    log.close()

    log = try fixture.open()
    upstream = try log.subscribe("upstream", origin: .oldest)
    #expect(upstream.attachment == ["file": 3])
    #expect(upstream.ledger == Ledger(accepted: 120, settled: Tally(.delivered, 15), waiting: 105))
    #expect(try upstream.readAll(.app("a")).count == 45)
    #expect(try upstream.readAll(.app("b")).count == 60)
    #expect(log.put(1000..<1001) == .stored(first: 121))
  }

  @Test("hands out nothing of a lane twice, and all of it again after a rewind")
  func rewind() throws {
    let log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    for i in 0..<20 { log.put(app: "app\(i % 3)", i..<i + 1) }
    #expect(try sink.readAll(.all, events: 7).map(\.sequence) == Array(1...20))
    #expect(try sink.readAll(.all).isEmpty)
    sink.acknowledge(.all, 3...5, Tally(.delivered, 3))
    sink.rewind(.all)
    #expect(try sink.readAll(.all, events: 1).map(\.sequence) == [1, 2] + Array(6...20))
    #expect(sink.ledger == Ledger(accepted: 20, settled: Tally(.delivered, 3), waiting: 17))
  }

  @Test("recycles segments once their events are committed by all")
  func recycling() throws {
    let log = try fixture.open()
    let one = try log.subscribe("one", origin: .oldest)
    let two = try log.subscribe("two", origin: .oldest)
    for i in 0..<200 { #expect(log.put(i..<i + 1) == .stored(first: UInt64(i) + 1)) }
    let before = log.statistics.segments
    #expect(before > 3)
    one.acknowledge(.app("ios"), 1...200, Tally(.delivered, 200))
    try one.commit(attachment: nil)
    #expect(log.statistics.segments == before)
    two.acknowledge(.all, 1...200, Tally(.delivered, 200))
    #expect(log.statistics.segments == before)
    try two.commit(attachment: nil)
    #expect(log.statistics.segments == 1)
    #expect(log.statistics.spareSegments == 2)
    for i in 200..<400 { #expect(log.put(i..<i + 1) == .stored(first: UInt64(i) + 1)) }
    #expect(try one.readAll(.app("ios")).count == 200)
    #expect(try two.readAll(.all).count == 200)
  }

  @Test("keeps a few events that are owed for long in small files, with their numbers, through a restart")
  func rewriting() throws {
    var fixture = fixture
    fixture.tuning.rewriteAtOnce()
    fixture.configuration.segmentSize = 16 * 1024
    var log = try fixture.open()
    var lanes = try log.subscribe("lanes", origin: .oldest)
    for i in 0..<400 { log.put(app: i % 40 == 7 ? "held" : "ios", i..<i + 1, size: 100) }
    #expect(try lanes.readAll(.app("held"), events: 3).count == 10)
    lanes.acknowledge(.app("ios"), 1...400, Tally(.delivered, 390))
    log.maintainInline()
    let before = log.statistics.sizeBytes
    try lanes.commit(attachment: nil)
    log.maintainInline()
    let after = log.statistics
    #expect(after.segments > 5)
    #expect(after.sizeBytes < before / 5)
    #expect(try LogInspection.verify(directory.path).damages.isEmpty)
    lanes.rewind(.app("held"))
    let held = (0..<10).map { UInt64($0 * 40 + 8) }
    #expect(try lanes.readAll(.app("held")).map(\.sequence) == held)
    lanes.acknowledge(.app("held"), 1...50, Tally(.delivered, 2))
    try lanes.commit(attachment: nil)
    #expect(log.statistics.segments < after.segments)
    log.close()
    log = try fixture.open()
    #expect(log.statistics.corruptRecords == 0)
    lanes = try log.subscribe("lanes", origin: .oldest)
    #expect(lanes.ledger == Ledger(accepted: 400, settled: Tally(.delivered, 392), waiting: 8))
    #expect(try lanes.readAll(.app("held")).map(\.sequence) == Array(held.dropFirst(2)))
    #expect(log.put(400..<401) == .stored(first: 401))
  }

  @Test("counts in the metrics the contract names")
  func metrics() throws {
    var fixture = fixture
    fixture.metrics = MetricsRegistry()
    let log = try fixture.open()
    log.put(0..<3)
    _ = log.stage(3..<4)
    _ = log.stage(4..<5)
    log.syncInline()
    let text = fixture.metrics.renderPrometheus()
    for line in [
      "event_relay_log_size_bytes \(log.statistics.sizeBytes)", "event_relay_log_segments 1",
      "event_relay_log_sync_seconds_count 2", "event_relay_log_events_per_sync_sum 5",
      "event_relay_log_events_per_sync_bucket{le=\"2\"} 1", "event_relay_log_dropped_events_total 0",
      "event_relay_log_corrupt_records_total 0",
    ] { #expect(text.contains(line + "\n")) }
  }

  @Test("refuses a draft that its format can't hold")
  func limits() throws {
    let log = try fixture.open()
    #expect(log.put(app: "", 0..<1) == .refused(.failed))
    #expect(log.put(app: String(repeating: "x", count: 65), 0..<1) == .refused(.failed))
    #expect(log.put(0..<0) == .refused(.failed))
    #expect(log.put(app: String(repeating: "x", count: 64), 0..<1, size: 60_000) == .stored(first: 1))
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).count == 1)
  }

  @Test("knows when its newest record was received, for clocks that are plainly wrong")
  func newestRecord() throws {
    var log = try fixture.open()
    #expect(log.newestRecordAtStart == nil)
    for i in 0..<60 { log.put(at: 1_800_000_000_000 + Int64(i), i..<i + 1, size: 100) }
    log = try fixture.open()
    #expect(log.newestRecordAtStart == Timestamp(milliseconds: 1_800_000_000_059))
    #expect(log.statistics.oldestReceivedAt == Timestamp(milliseconds: 1_800_000_000_000))
  }

  @Test("takes times from anywhere, and keeps them to the millisecond")
  func times() throws {
    let log = try fixture.open()
    let all = try log.subscribe("all", origin: .oldest)
    let times: [Int64] = [1_800_000_000_000, 0, 4_000_000_000_000, 1_800_000_000_000]
    for (i, time) in times.enumerated() { #expect(log.put(at: time, i..<i + 1) == .stored(first: UInt64(i) + 1)) }
    #expect(try all.readAll(.all).map(\.receivedAt.milliseconds) == times)
    for i in 0..<4 {
      #expect(all.pending.oldestReceivedAt == Timestamp(milliseconds: times[i]))
      all.acknowledge(.all, UInt64(i) + 1...UInt64(i) + 1, Tally(.delivered, 1))
    }
  }
}
