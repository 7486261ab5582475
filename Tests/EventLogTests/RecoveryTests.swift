import Clocks
import EventLog
import Observability
import Synchronization
import TestSupport
import Testing

@testable import EventLog

@Suite("Recovery")
struct RecoveryTests {
  final class Lines: Sendable {
    private let all = Mutex<[String]>([])
    func add(_ line: [UInt8]) { all.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
    var texts: [String] { all.withLock { $0 } }
    func contains(_ parts: String...) -> Bool {
      all.withLock { $0.contains { line in parts.allSatisfy { line.contains($0) } } }
    }
  }

  let disk = SimulatedDisk()
  let lines = Lines()
  var fixture: LogFixture {
    let lines = lines
    var fixture = LogFixture(directory: "/data", disk: disk)
    fixture.logger = Logger { lines.add($0) }
    return fixture
  }
  let first = "/data/log/segment-000000000001.log"

  private func offset(of serial: Int, in path: String) throws -> Int {
    let needle = Array("{\"event\":\(serial),".utf8)
    let bytes = try #require(disk.bytes(of: path))
    return try #require((0..<bytes.count - needle.count).first { Array(bytes[$0..<$0 + needle.count]) == needle })
  }

  /// Changes a bit of an event.
  private func flip(_ serial: Int, _ byte: Int, in path: String) throws {
    let at = try offset(of: serial, in: path) + byte
    disk.corrupt(path) { $0[at] ^= 1 }
  }

  @Test("cuts off a write that never ended, keeps a copy, and gives its numbers again")
  func tornTail() throws {
    var log = try fixture.open()
    log.put(1..<3)
    log.put(3..<6)
    try flip(4, 3, in: first)
    log = try fixture.open()
    #expect(log.tornWrites == 1)
    #expect(log.statistics.nextSequence == 3)
    #expect(log.statistics.corruptRecords == 0)
    #expect(disk.paths.contains { $0.hasPrefix("/data/log/torn-000000000001-") })
    #expect(lines.contains("never ended", first))
    #expect(log.put(6..<7) == .stored(first: 3))
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).map(\.index.idHigh) == [1, 2, 6])
    log = try fixture.open()
    #expect(log.tornWrites == 0)
  }

  @Test("takes nothing that an earlier life left behind a clean end's mark for damage, whatever follows")
  func staleBytesBehindMark() throws {
    var log = try fixture.open()
    for day in 0..<3 {
      log.put(day * 2 + 1..<day * 2 + 3)
      // As in a file that is written over.
      if day == 0 { disk.corrupt(first) { bytes in for at in 1024..<bytes.count { bytes[at] = 0xEE } } }
      log.close()
      log = try fixture.open()
      // And an end without a close.
      log.put(100 + day..<101 + day)
      log = try fixture.open()
      #expect(log.statistics.corruptRecords == 0)
      #expect(try !LogInspection.run("/data/log", verify: true, disk: disk).isDamaged)
    }
    #expect(log.statistics.nextSequence == 10)
  }

  @Test("takes the first bytes of a write that never ended for no damage later", arguments: [8, 16, 24, 40, 71])
  func tornHeader(_ kept: Int) throws {
    var log = try fixture.open()
    _ = log.stage(1..<2)
    _ = log.stage(2..<3)
    log.syncInline()
    // The second frame, in the same round and sector as the first, is torn in its header.
    let second = try offset(of: 1, in: first) / 8 * 8 + 40
    let bytes = try #require(disk.bytes(of: first))
    let start = try #require((second..<second + 64).first { Array(bytes[$0..<$0 + 4]) == Array("ERFr".utf8) })
    disk.corrupt(first) { bytes in for at in start + kept..<bytes.count { bytes[at] = 0xEE } }
    log = try fixture.open()
    #expect(log.put(3..<4) == .stored(first: 2))
    log = try fixture.open()
    #expect(log.statistics.corruptRecords == 0)
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).map(\.index.idHigh) == [1, 3])
  }

  @Test("keeps at most eight copies of torn writes")
  func tornCopies() throws {
    for serial in 1..<14 {
      let log = try fixture.open()
      log.put(serial..<serial + 1, size: 100 + serial * 40)
      let path = try #require(disk.paths.last { $0.contains("/segment-") })
      try flip(serial, 3, in: path)
      #expect(try fixture.open().tornWrites == 1)
    }
    #expect(disk.paths.count { $0.contains("/torn-") } <= LogOpening.tornFilesMax)
  }

  @Test("skips a damaged record below what was synced, names it, and keeps what follows")
  func damage() throws {
    var log = try fixture.open()
    for i in 0..<4 { log.put(app: "app\(i % 2)", i * 2..<i * 2 + 2) }
    try flip(2, 3, in: first)
    log = try fixture.open()
    #expect(log.statistics.corruptRecords == 1)
    #expect(lines.contains("damaged", first, "offset=1024", "first_lost=3", "last_lost=4"))
    let lanes = try log.subscribe("lanes", origin: .oldest)
    #expect(lanes.ledger.accepted == 8)
    #expect(try lanes.readAll(.app("app1")).map(\.sequence) == [7, 8])
    #expect(try lanes.readAll(.app("app0")).map(\.sequence) == [1, 2, 5, 6])
    #expect(lanes.ledger == Ledger(accepted: 8, settled: Tally(.lost, 2), waiting: 6))
    let all = try log.subscribe("all", origin: .oldest)
    #expect(try all.readAll(.all).map(\.sequence) == [1, 2, 5, 6, 7, 8])
    #expect(all.ledger == Ledger(accepted: 8, settled: Tally(.lost, 2), waiting: 6))
    #expect(log.put(8..<9) == .stored(first: 9))
  }

  @Test("takes damage of the last record for what it is after a clean end")
  func damageAfterCleanEnd() throws {
    var log = try fixture.open()
    log.put(0..<2)
    log.put(2..<4)
    log.close()
    try flip(3, 3, in: first)
    log = try fixture.open()
    #expect(log.statistics.corruptRecords == 1)
    #expect(log.tornWrites == 0)
    #expect(log.put(4..<5) == .stored(first: 5))
  }

  @Test("tells whose events are gone by the count when even the header of a record is damaged")
  func damagedFrameHeader() throws {
    var log = try fixture.open()
    let lanes = try log.subscribe("lanes", origin: .oldest)
    for i in 0..<4 { log.put(app: "app\(i % 2)", i * 2..<i * 2 + 2) }
    _ = lanes
    disk.corrupt(first) { $0[1024 + 20] ^= 1 }
    log = try fixture.open()
    let again = try log.subscribe("lanes", origin: .oldest)
    #expect(again.ledger == Ledger(accepted: 8, settled: Tally(.lost, 2), waiting: 6))
    #expect(try again.readAll(.app("app0")).count == 4)
    #expect(try again.readAll(.app("app1")).count == 2)
  }

  @Test("finds a damaged record of a sealed segment when it is read, and tells it once")
  func damageInSealed() throws {
    var log = try fixture.open()
    for i in 0..<60 { log.put(app: "app\(i % 3)", i..<i + 1, size: 100) }
    log.close()
    try flip(2, 12, in: first)
    let metrics = MetricsRegistry()
    var fixture = fixture
    fixture.metrics = metrics
    log = try fixture.open()
    #expect(log.statistics.corruptRecords == 0)
    let lanes = try log.subscribe("lanes", origin: .oldest)
    let all = try log.subscribe("all", origin: .oldest)
    #expect(try lanes.readAll(.app("app2")).count == 19)
    #expect(try all.readAll(.all).count == 59)
    #expect(lanes.ledger == Ledger(accepted: 60, settled: Tally(.lost, 1), waiting: 59))
    #expect(all.ledger == Ledger(accepted: 60, settled: Tally(.lost, 1), waiting: 59))
    #expect(log.statistics.corruptRecords == 1)
    #expect(metrics.renderPrometheus().contains("event_relay_log_corrupt_records_total 1"))
    lanes.rewind(.app("app2"))
    #expect(try lanes.readAll(.app("app2")).count == 19)
  }

  @Test(
    "reads a sealed segment through whose footer is damaged, and gives it a new one",
    arguments: ["head", "row", "trailer", "list"])
  func damagedFooter(part: String) throws {
    var log = try fixture.open()
    for i in 0..<60 { log.put(app: "app\(i % 3)", i..<i + 1, size: 100) }
    log.close()
    let bytes = try #require(disk.bytes(of: first))
    let trailer = bytes.count - SegmentFooter.trailerSize
    let footer = Int(bytes.number(trailer + 24, as: UInt64.self))
    let lists = footer + SegmentFooter.headSize + 4 * SegmentFooter.rowSize
    let at = ["head": footer + 30, "row": footer + 70, "trailer": trailer + 20, "list": lists + 6][part]!
    disk.corrupt(first) { $0[at] ^= 0x10 }
    log = try fixture.open()
    let lanes = try log.subscribe("lanes", origin: .oldest)
    for i in 0..<3 { #expect(try lanes.readAll(.app("app\(i)")).count == 20) }
    #expect(lanes.ledger == Ledger(accepted: 60, settled: Tally(), waiting: 60))
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).count == 60)
    log.close()
    if part != "list" {
      #expect(try LogInspection.run("/data", verify: true, disk: disk).damages.isEmpty)
    }
  }

  @Test("tells a damaged header from the footer or the frames")
  func damagedHeader() throws {
    var log = try fixture.open()
    for i in 0..<60 { log.put(i..<i + 1, size: 100) }
    let last = try #require(disk.paths.last { $0.contains("/segment-") })
    log.close()
    for path in [first, last] { disk.corrupt(path) { for at in 0..<500 { $0[at] = 0x55 } } }
    log = try fixture.open()
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).map(\.sequence) == Array(1...60))
    #expect(log.put(60..<61) == .stored(first: 61))
  }

  @Test("sets aside a segment of which nothing is left, and starts")
  func destroyedSegment() throws {
    var log = try fixture.open()
    for i in 0..<60 { log.put(i..<i + 1, size: 100) }
    let last = try #require(disk.paths.last { $0.contains("/segment-") })
    log.close()
    let lost = 60 - Int(try LogInspection.run("/data", verify: false, disk: disk).segments.last!.firstSequence!) + 1
    disk.corrupt(last) { for at in $0.indices { $0[at] = 0x55 } }
    log = try fixture.open()
    #expect(log.statistics.corruptRecords == 1)
    #expect(disk.paths.contains { $0.contains("/damaged-") })
    guard case .stored(let first) = log.put(60..<61) else {
      Issue.record("must go on")
      return
    }
    #expect(first > 60)
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).count == 60 - lost + 1)
  }

  @Test("gives no number twice when an old copy of the log is put back under newer positions")
  func oldLog() throws {
    var log = try fixture.open()
    log.put(0..<5)
    let all = try log.subscribe("all", origin: .oldest)
    let old = disk.bytes(of: first)!
    log.put(5..<10)
    all.acknowledge(.all, 1...8, Tally(.delivered, 8))
    try all.commit(attachment: nil)
    log.close()
    disk.corrupt(first) { $0 = old }
    log = try fixture.open()
    let again = try log.subscribe("all", origin: .oldest)
    #expect(again.ledger == Ledger(accepted: 10, settled: Tally([.delivered: 8, .lost: 2]), waiting: 0))
    #expect(log.put(10..<11) == .stored(first: 11))
    #expect(try again.readAll(.all).map(\.sequence) == [11])
    #expect(again.ledger.isBalanced && again.ledger.accepted == 11)
    #expect(lines.contains("past the log's end", "first=6", "last=10"))
  }

  @Test("delivers again what old positions say is owed, as far as it is still there")
  func oldPositions() throws {
    var log = try fixture.open()
    let all = try log.subscribe("all", origin: .oldest)
    for i in 0..<60 { log.put(i..<i + 1, size: 100) }
    all.acknowledge(.all, 1...10, Tally(.delivered, 10))
    try all.commit(attachment: nil)
    let old = disk.bytes(of: "/data/positions/all.json")!
    all.acknowledge(.all, 11...60, Tally(.delivered, 50))
    try all.commit(attachment: nil)
    log.close()
    disk.corrupt("/data/positions/all.json") { $0 = old }
    log = try fixture.open()
    let again = try log.subscribe("all", origin: .oldest)
    let left = try again.readAll(.all).count
    #expect(
      again.ledger
        == Ledger(accepted: 60, settled: Tally([.delivered: 10, .lost: UInt64(50 - left)]), waiting: UInt64(left)))
  }

  @Test("begins again with the oldest event when positions are damaged, and keeps the record")
  func damagedPositions() throws {
    var log = try fixture.open()
    let all = try log.subscribe("all", origin: .newest)
    log.put(0..<5)
    all.acknowledge(.all, 1...3, Tally(.delivered, 3))
    try all.commit(attachment: ["x": 1])
    log.close()
    disk.corrupt("/data/positions/all.json") { $0[$0.count / 2] ^= 0x20 }
    log = try fixture.open()
    #expect(log.knownDestinations == ["all"])
    #expect(lines.contains("positions are damaged", "all.json.damaged-1"))
    #expect(disk.paths.contains("/data/positions/all.json.damaged-1"))
    let again = try log.fileSubscription("all", origin: .newest)
    #expect(again.countsSince != nil)
    #expect(again.attachment == nil)
    #expect(try again.readAll(.all).count == 5)
    #expect(again.ledger == Ledger(accepted: 5, settled: Tally(), waiting: 5))
  }

  @Test("refuses what a newer program wrote, naming both versions, and takes it for no damage")
  func newerVersion() throws {
    let log = try fixture.open()
    log.put(0..<5)
    log.close()
    let before = disk.paths
    disk.corrupt(first) { bytes in
      bytes[8] = 2
      bytes.withUnsafeMutableBytes { bytes in
        let start = UnsafeRawPointer(bytes.baseAddress!)
        bytes.baseAddress!.put(crc32c(start + 16, 496, from: crc32c(start, 12)), 12)
      }
    }
    #expect(throws: LogError.self) { try fixture.open() }
    do { _ = try fixture.open() } catch {
      #expect("\(error)".contains("version 2") && "\(error)".contains("up to 1"))
    }
    #expect(disk.paths == before)
  }

  @Test("writes the tail again after a sync that failed, since the system may only pretend to have it")
  func failedSync() throws {
    var log = try fixture.open()
    log.put(0..<2)
    disk.failSync(after: 0)
    #expect(log.put(2..<4) == .refused(.failed))
    // A start without a reboot: what failed is seen, and may be kept; but then it must be on the disk.
    log = try fixture.open()
    let next = log.statistics.nextSequence
    #expect(log.put(4..<5) == .stored(first: next))
    var random = SeededGenerator(seed: 3)
    for _ in 0..<8 { disk.powerCycle(&random) }
    log = try fixture.open()
    #expect(log.statistics.corruptRecords == 0)
    #expect(try log.subscribe("all", origin: .oldest).readAll(.all).count == Int(next))
  }
}
