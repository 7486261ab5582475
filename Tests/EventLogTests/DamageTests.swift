import Clocks
import Observability
import TestSupport
import Testing

@testable import EventLog

/// Every byte of a log's files, damaged one after the other: what is lost is what was damaged, and is named and counted.
@Suite("Damage, byte by byte")
struct DamageTests {
  private let first = "/data/log/segment-000000000001.log"
  private let second = "/data/log/segment-000000000002.log"

  /// What a log with a damaged file turned out to be.
  private struct Found {
    var numbers: [UInt64] = []
    var ledger = Ledger(accepted: 0, settled: Tally(), waiting: 0)
    var corruptRecords: UInt64 = 0
    var lines: [String] = []
  }

  /// A closed log of a finished segment and one that was written to: frames of two events each.
  private func files() throws -> (files: [String: [UInt8]], end: UInt64) {
    let disk = SimulatedDisk()
    let log = try LogFixture(directory: "/data", disk: disk).open()
    let subscription = try log.subscribe("all", origin: .oldest)
    try subscription.commit(attachment: nil)
    var serial = 1
    while disk.bytes(of: second) == nil {
      log.put(app: "app\(serial % 3)", serial..<serial + 2, size: 300)
      serial += 2
    }
    for _ in 0..<2 {
      log.put(serial..<serial + 2, size: 60)
      serial += 2
    }
    log.close()
    let paths = disk.paths.filter { !$0.contains("/spare-") }
    return (
      Dictionary(uniqueKeysWithValues: paths.compactMap { path in disk.bytes(of: path).map { (path, $0) } }),
      UInt64(serial)
    )
  }

  /// Opens the log with one file changed, and reads all that can be read.
  private func open(_ files: [String: [UInt8]], _ path: String, _ change: (inout [UInt8]) -> Void) throws -> Found {
    let disk = SimulatedDisk()
    var fixture = LogFixture(directory: "/data", disk: disk)
    let lines = RecoveryTests.Lines()
    fixture.logger = Logger { lines.add($0) }
    for (file, bytes) in files {
      var bytes = bytes
      if file == path { change(&bytes) }
      let open = try disk.open(file, .create)
      try open.writeBytes(bytes, at: 0)
      try open.syncData()
    }
    try disk.syncDirectory("/data/log")
    try disk.syncDirectory("/data/positions")
    let log = try fixture.open()
    let subscription = try log.subscribe("all", origin: .oldest)
    var found = Found()
    found.numbers = try subscription.readAll(.all).map(\.sequence)
    for number in found.numbers { subscription.acknowledge(.all, number...number, Tally(.delivered, 1)) }
    found.ledger = subscription.ledger
    found.corruptRecords = UInt64(log.statistics.corruptRecords)
    found.lines = lines.texts
    return found
  }

  /// The frames of a segment: where each is, where in that something is, and the numbers of its events.
  private func frames(_ bytes: [UInt8]) throws -> [(range: Range<Int>, used: Range<Int>, numbers: Range<UInt64>)] {
    try bytes.withUnsafeBytes { bytes in
      guard case .header(let header) = SegmentHeader.read(bytes.baseAddress!, available: bytes.count) else { return [] }
      var out: [(Range<Int>, Range<Int>, Range<UInt64>)] = []
      var at = SegmentHeader.size
      while at + FrameHeader.size < bytes.count {
        if case .header(let frame) = FrameHeader.read(
          bytes.baseAddress! + at, available: bytes.count - at, life: header.life)
        {
          // (Zeros up to a multiple of 8 mean nothing.)
          let end = at + frame.payloadOffset + frame.payloadLength
          if !frame.isMark {
            out.append((at..<at + frame.length, at..<end, frame.firstSequence..<frame.endSequence))
          }
          at += frame.length
        } else {
          at += 8
        }
      }
      return try #require(out.isEmpty ? nil : out)
    }
  }

  /// What must be so with a damage in a frame, or in none.
  private func expect(
    _ found: Found, lost: Range<UInt64>?, of end: UInt64, in path: String, _ what: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let right = (1..<end).filter { lost?.contains($0) != true }
    let lostCount = UInt64(lost?.count ?? 0)
    let isNamed =
      lost.map { lost in
        found.lines.contains {
          $0.contains(path) && $0.contains("offset=") && $0.contains("first_lost=\(lost.lowerBound)")
            && $0.contains("last_lost=\(lost.upperBound - 1)")
        }
      } ?? !found.lines.contains { $0.contains("first_lost=") }
    let isRight =
      found.numbers == right && found.ledger.settled[.lost] == lostCount && found.ledger.waiting == 0
      && found.ledger.accepted == end - 1 && (lost == nil || found.corruptRecords >= 1) && isNamed
    #expect(
      isRight, "\(what): read \(found.numbers), books \(found.ledger), \(found.corruptRecords) told: \(found.lines)",
      sourceLocation: sourceLocation)
  }

  @Test("one bit of every byte of a segment: header, frames, index, events, footer and trailer", arguments: [1, 2])
  func everyByte(segment: Int) throws {
    let (files, end) = try files()
    let path = segment == 1 ? first : second
    let bytes = try #require(files[path])
    let frames = try frames(bytes)
    for at in bytes.indices where bytes[at] != 0 || at < 640 || frames.contains(where: { $0.range.contains(at) }) {
      let found = try open(files, path) { $0[at] ^= UInt8(1 << (at % 8)) }
      expect(found, lost: frames.first { $0.used.contains(at) }?.numbers, of: end, in: path, "byte \(at)")
    }
  }

  @Test("a sector of zeros anywhere in a segment", arguments: [1, 2])
  func sectors(segment: Int) throws {
    let (files, end) = try files()
    let path = segment == 1 ? first : second
    let bytes = try #require(files[path])
    let frames = try frames(bytes)
    for start in stride(from: 0, to: bytes.count, by: 512) {
      let found = try open(files, path) { for at in start..<start + 512 { $0[at] = 0 } }
      let hit = frames.filter { $0.range.overlaps(start..<start + 512) }
      let lost = hit.isEmpty ? nil : hit.first!.numbers.lowerBound..<hit.last!.numbers.upperBound
      let right = (1..<end).filter { lost?.contains($0) != true }
      #expect(found.numbers == right, "sector \(start): \(found.lines)")
      #expect(found.ledger.settled[.lost] == UInt64(lost?.count ?? 0), "sector \(start): \(found.ledger)")
      #expect(found.ledger.waiting == 0 && found.ledger.accepted == end - 1, "sector \(start): \(found.ledger)")
      #expect((lost == nil) == !found.lines.contains { $0.contains("first_lost=") }, "sector \(start): \(found.lines)")
    }
  }

  @Test("every record of a segment, each named: the log's lines about losses are not thinned out", arguments: [1, 2])
  func everyRecord(segment: Int) throws {
    let (files, end) = try files()
    let path = segment == 1 ? first : second
    let frames = try frames(try #require(files[path]))
    let found = try open(files, path) { bytes in
      for frame in frames { bytes[frame.used.upperBound - 1] ^= 1 }
    }
    let lost = Set(frames.flatMap { Array($0.numbers) })
    #expect(found.numbers == (1..<end).filter { !lost.contains($0) })
    #expect(found.ledger.settled[.lost] == UInt64(lost.count) && found.ledger.accepted == end - 1)
    let named = found.lines.flatMap { line -> [UInt64] in
      func number(_ name: String) -> UInt64? {
        guard let at = line.firstRange(of: "\(name)=") else { return nil }
        return UInt64(line[at.upperBound...].prefix { $0.isNumber })
      }
      guard let first = number("first_lost"), let last = number("last_lost"), first <= last else { return [] }
      return Array(first...last)
    }
    #expect(named.sorted() == lost.sorted(), "\(frames.count) records: \(found.lines)")
  }

  @Test("a finished segment that ends at any byte: what was behind that is named, and the next one flows")
  func truncated() throws {
    let (files, end) = try files()
    let bytes = try #require(files[first])
    let frames = try frames(bytes)
    let start = frames[max(0, frames.count - 2)].range.lowerBound
    for length in start..<bytes.count {
      let found = try open(files, first) { $0.removeLast($0.count - length) }
      let gone = frames.first { $0.range.upperBound > length }?.numbers.lowerBound
      expect(
        found, lost: gone.map { $0..<frames.last!.numbers.upperBound }, of: end, in: first, "\(length) bytes")
    }
  }

  @Test("a last segment that ends at any byte is cut there, and no number that was read is given again")
  func truncatedTail() throws {
    let (files, _) = try files()
    let bytes = try #require(files[second])
    let frames = try frames(bytes)
    for length in frames[0].range.lowerBound..<frames.last!.range.upperBound + 600 where length <= bytes.count {
      let found = try open(files, second) { $0.removeLast($0.count - length) }
      let last = frames.last { $0.range.upperBound <= length }?.numbers.upperBound ?? frames[0].numbers.lowerBound
      #expect(found.numbers == Array(1..<last), "\(length) bytes: \(found.numbers), \(found.lines)")
      #expect(found.ledger.waiting == 0, "\(length) bytes: \(found.ledger)")
    }
  }

  @Test("a destination whose damaged record was set aside stays known over a crash before its new one is written")
  func damagedRecordAndCrash() throws {
    let (files, end) = try files()
    let disk = SimulatedDisk()
    for (file, bytes) in files {
      let open = try disk.open(file, .create)
      try open.writeBytes(file.hasSuffix("/all.json") ? Array(bytes.dropLast(3)) : bytes, at: 0)
      try open.syncData()
    }
    for directory in ["/data/log", "/data/positions"] { try disk.syncDirectory(directory) }
    // As a start that dies right behind that.
    let store = PositionStore(directory: "/data/positions", disk: disk, logger: .silent)
    guard case .damaged? = try store.readAll().first?.1 else {
      Issue.record("the record isn't taken for damaged")
      return
    }
    let log = try LogFixture(directory: "/data", disk: disk).open()
    #expect(log.knownDestinations == ["all"])
    let subscription = try log.subscribe("all", origin: .newest)
    #expect(try subscription.readAll(.all).count == Int(end) - 1)
    #expect(disk.paths.contains("/data/positions/all.json.damaged-1"))
  }

  @Test("numbers of a segment that was set aside aren't given again, over any number of starts")
  func numbersSetAside() throws {
    let (files, end) = try files()
    let disk = SimulatedDisk()
    for (file, bytes) in files where !file.contains("/positions/") {
      let open = try disk.open(file, .create)
      try open.writeBytes(file == second ? bytes.map { _ in 0x55 } : bytes, at: 0)
      try open.syncData()
    }
    try disk.syncDirectory("/data/log")
    let fixture = LogFixture(directory: "/data", disk: disk)
    let next = try (0..<3).map { _ in try fixture.open().statistics.nextSequence }
    #expect(next[0] >= end && Set(next).count == 1, "\(next)")
  }

  @Test(
    "nor when several were set aside, nor when segments are smaller since", arguments: [4096, 1 << 16], [2, 3, 4])
  func numbersOfLargerSegments(size: Int, firstDamaged: UInt64) throws {
    let disk = SimulatedDisk()
    var fixture = LogFixture(directory: "/data", disk: disk)
    fixture.configuration = FileLogConfiguration(segmentSize: 1 << 16, maxSize: 1 << 20, minFreeDisk: 0)
    let log = try fixture.open()
    func path(_ number: UInt64) -> String { "/data/log/\(SegmentName.segment(number))" }
    var serial = 1
    while disk.bytes(of: path(5)) == nil {
      log.put(serial..<serial + 50, size: 20)
      serial += 50
    }
    let end = log.statistics.nextSequence
    log.close()
    for number in firstDamaged...5 {
      let bytes = try #require(disk.bytes(of: path(number)))
      let file = try disk.open(path(number), .create)
      try file.writeBytes(bytes.map { _ in 0x55 }, at: 0)
      try file.syncData()
    }
    fixture.configuration = FileLogConfiguration(segmentSize: size, maxSize: 1 << 20, minFreeDisk: 0)
    let next = try (0..<3).map { _ in try fixture.open().statistics.nextSequence }
    #expect(next[0] >= end && Set(next).count == 1, "\(next), \(end)")
  }

  @Test("a segment that is gone loses its events alone, named and counted", arguments: [1, 2])
  func gone(segment: Int) throws {
    var (files, end) = try files()
    let path = segment == 1 ? first : second
    let frames = try frames(try #require(files[path]))
    let lost = frames.first!.numbers.lowerBound..<frames.last!.numbers.upperBound
    files[path] = nil
    let found = try open(files, "") { _ in }
    #expect(found.numbers == (1..<end).filter { !lost.contains($0) })
    #expect(found.ledger.waiting == 0)
    // Of what nobody had read nothing tells that it ever was, when it was the last.
    if segment == 1 {
      #expect(found.ledger.settled[.lost] == UInt64(lost.count), "\(found.ledger)")
      #expect(
        found.lines.contains { $0.contains("numbers=\(lost.lowerBound)-\(lost.upperBound - 1)") }, "\(found.lines)")
    }
  }
}
