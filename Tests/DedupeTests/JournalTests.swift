import Clocks
import EventLog
import Glibc
import Observability
import TestSupport
import Testing

@testable import Dedupe

@Suite("The journal of ids")
struct JournalTests {
  private let directory = TemporaryDirectory()
  private let disk = FaultyDisk()
  private let now = Timestamp(milliseconds: 1_792_757_071_512)

  private func journal(window: Duration = .seconds(3600), maxIDs: Int = 1_000_000) -> IDJournal {
    let now = now
    return IDJournal(
      directory: directory.file("dedupe"), plan: JournalPlan(window: window, maxIDs: maxIDs), disk: disk,
      clock: WallClock { now }, logger: .silent)
  }

  private func record(_ id: UInt64, _ kind: IDRecord.Kind = .stored, age: Duration = .zero) -> IDRecord {
    IDRecord(kind, EventKey(app: 3, idHigh: id, idLow: ~id), sequence: id, body: id << 40, at: now - age)
  }

  private func load(_ journal: IDJournal) throws -> [IDRecord] {
    var found: [IDRecord] = []
    try journal.load { found.append($0) }
    return found
  }

  private var files: [String] {
    get throws { try disk.list(directory.file("dedupe")).sorted().map { directory.file("dedupe/\($0)") } }
  }

  @Test("gives back what was written, over any number of starts")
  func back() throws {
    var expected: [IDRecord] = []
    for start in 0..<4 as Range<UInt64> {
      let journal = journal()
      #expect(try load(journal) == expected)
      for part in 0..<3 as Range<UInt64> {
        let records = (0..<5).map { record(start * 100 + part * 10 + $0, $0 == 4 ? .forgotten : .stored) }
        try journal.append(records)
        expected += records
      }
    }
    #expect(try files.count == 1)
  }

  @Test("loses nothing but what was torn", arguments: [1, 15, 16, 30, 56, 100, 280])
  func torn(cut: Int) throws {
    let records = (1...5).map { record($0) }
    let first = journal()
    _ = try load(first)
    try first.append(records)
    let path = try #require(try files.first)
    let size = JournalFile.headSize + 5 * IDRecord.size
    #expect(truncate(path, off_t(size - cut)) == 0)
    let next = journal()
    let left = max(0, 5 * IDRecord.size - cut) / IDRecord.size
    #expect(try load(next) == Array(records[..<left]))
    try next.append([record(9)])
    #expect(try load(journal()) == records[..<left] + [record(9)])
  }

  @Test("skips a damaged record and reads those behind it")
  func damaged() throws {
    let first = journal()
    _ = try load(first)
    try first.append((1...5).map { record($0) })
    let file = try RealDisk().open(try #require(try files.first), .readWrite)
    try [UInt8](repeating: 0xEE, count: 3).withUnsafeBytes {
      try file.write($0, at: JournalFile.headSize + 2 * IDRecord.size + 20)
    }
    #expect(try load(journal()).map(\.sequence) == [1, 2, 4, 5])
  }

  @Test("writes into a new file after a failure, and loses nothing that was synced", arguments: 0..<2)
  func failure(after count: Int) throws {
    let journal = journal()
    _ = try load(journal)
    try journal.append([record(1), record(2)])
    disk.fail(after: count)
    #expect(throws: DiskError.self) { try journal.append((10...20).map { record($0) }) }
    disk.fail(after: nil)
    try journal.append([record(3)])
    let found = try load(self.journal()).map(\.sequence)
    #expect(found.first == 1 && found.last == 3 && Set(found).isSuperset(of: [1, 2, 3]))
    #expect(try files.count == 2)
  }

  @Test("removes whole files that nothing in matters any more")
  func removes() throws {
    let journal = journal(maxIDs: 4096)
    _ = try load(journal)
    // Full after a quarter of the ids.
    for part in 0..<12 as Range<UInt64> { try journal.append((1...1024).map { record(part * 1024 + $0) }) }
    #expect(try files.count == 5)
    let found = Set(try load(self.journal(maxIDs: 4096)).map(\.sequence))
    #expect(found.isSuperset(of: (12 * 1024 - 4095)...(12 * 1024)))
  }

  @Test("removes files that are past the window at the start")
  func old() throws {
    let first = journal()
    _ = try load(first)
    try first.append((1...2000).map { record($0, age: .seconds(3500)) })
    try first.append([record(5000, age: .seconds(10))])
    #expect(try files.count == 2)
    let later = Timestamp(milliseconds: now.milliseconds + 200_000)
    let next = IDJournal(
      directory: directory.file("dedupe"), plan: JournalPlan(window: .seconds(3600), maxIDs: 1_000_000), disk: disk,
      clock: WallClock { later }, logger: .silent)
    _ = try load(next)
    #expect(try files.count == 1)
  }

  @Test("is refused when a newer program wrote it, with the versions named")
  func newer() throws {
    let first = journal()
    _ = try load(first)
    try first.append([record(1)])
    var head = JournalFile.head
    head[8] = 2
    let crc = BodyPrint.of(head[..<12].withUnsafeBytes { $0 })
    withUnsafeBytes(of: UInt32(truncatingIfNeeded: crc).littleEndian) { head.replaceSubrange(12..., with: $0) }
    let file = try RealDisk().open(try #require(try files.first), .readWrite)
    try head.withUnsafeBytes { try file.write($0, at: 0) }
    let error = #expect(throws: LogError.self) { try load(journal()) }
    #expect(error?.description.contains("has format version 2, this program reads up to 1") == true)
  }

  @Test("is gone with all its files when ids are remembered no more")
  func gone() throws {
    let log = try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"),
      configuration: FileLogConfiguration(segmentSize: 8192, maxSize: 1 << 20, minFreeDisk: 0), logger: .silent,
      metrics: MetricsRegistry())
    let kept = journal()
    _ = try load(kept)
    try kept.append([record(1)])
    _ = try log.subscribe(IDKeeper.destination, origin: .newest)
    log.close()
    let again = try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"),
      configuration: FileLogConfiguration(segmentSize: 8192, maxSize: 1 << 20, minFreeDisk: 0), logger: .silent,
      metrics: MetricsRegistry())
    try IDKeeper.remove(from: again, directory: directory.file("dedupe"))
    #expect(again.knownDestinations.isEmpty)
    #expect(try files.isEmpty)
    again.close()
  }
}
