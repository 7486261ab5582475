import Clocks
import TestSupport
import Testing

@testable import EventLog

@Suite("Delivered events that are kept for replay")
struct RetainingTests {
  let directory = TemporaryDirectory()
  static let receipt: Int64 = 1_800_000_000_000

  private func fixture(retain: Duration = .seconds(3600), after: Duration = .zero) -> LogFixture {
    var fixture = LogFixture(directory: directory.path)
    fixture.configuration.retain = retain
    fixture.now = Self.receipt + after.milliseconds
    return fixture
  }

  private func fill(_ log: FileLog, _ serials: Range<Int>) {
    for serial in serials { log.put(at: Self.receipt, serial..<serial + 1) }
  }

  private func settle(_ subscription: any Subscription, through last: UInt64, count: Int) throws {
    subscription.acknowledge(.all, 1...last, Tally(.delivered, count))
    try subscription.commit(attachment: nil)
  }

  private func all(in log: FileLog) throws -> [UInt64] {
    let scan = log.scan()
    let batch = EventBatch()
    var numbers: [UInt64] = []
    while try scan.read(ReadLimit(events: 7, bytes: 1 << 20), into: batch) { numbers += batch.events.map(\.sequence) }
    return numbers
  }

  @Test("they stay as long as they are young, over a restart too, and nobody is owed them")
  func young() throws {
    var log = try fixture().open()
    var sink = try log.subscribe("sink", origin: .oldest)
    fill(log, 0..<200)
    try settle(sink, through: 200, count: 200)
    #expect(log.statistics.segments > 3)
    #expect(log.statistics.retainedBytes > 0)
    #expect(try all(in: log) == Array(1...200))
    log.close()

    log = try fixture(after: .seconds(3000)).open()
    sink = try log.subscribe("sink", origin: .oldest)
    #expect(try all(in: log) == Array(1...200))
    #expect(sink.pending.events == 0)
    #expect(sink.ledger == Ledger(accepted: 200, settled: Tally(.delivered, 200), waiting: 0))
    #expect(try LogInspection.inspect(directory.path).retainedBytes == log.statistics.retainedBytes)
  }

  @Test("they go when the newest receipt of their segment is too old")
  func old() throws {
    var log = try fixture().open()
    try settle(try filled(log, 200), through: 200, count: 200)
    log.close()
    log = try fixture(after: .seconds(3601)).open()
    #expect(log.statistics.retainedBytes == 0)
    #expect(log.statistics.segments <= 1)
    #expect(try all(in: log).allSatisfy { $0 > 150 })
  }

  private func filled(_ log: FileLog, _ count: Int) throws -> any Subscription {
    let sink = try log.subscribe("sink", origin: .oldest)
    fill(log, 0..<count)
    return sink
  }

  @Test("without `retain` nothing stays")
  func none() throws {
    let log = try fixture(retain: .zero).open()
    try settle(try filled(log, 200), through: 200, count: 200)
    #expect(log.statistics.segments == 1)
    #expect(log.statistics.retainedBytes == 0)
  }

  @Test("they make room for new events, the oldest first, and nothing that is owed is refused or dropped for them")
  func room() throws {
    var fixture = fixture()
    fixture.configuration.maxSize = 32 * 1024
    fixture.configuration.onFull = .dropOldest
    let log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    var settled: UInt64 = 0
    for round in 0..<40 {
      fill(log, round * 20..<round * 20 + 20)
      let end = log.statistics.nextSequence - 1
      #expect(end == UInt64(round + 1) * 20)
      sink.acknowledge(.all, settled + 1...end, Tally(.delivered, 20))
      settled = end
      try sink.commit(attachment: nil)
    }
    #expect(log.statistics.sizeBytes <= 32 * 1024)
    #expect(log.statistics.droppedEvents == 0)
    let kept = try all(in: log)
    #expect(kept == Array(kept[0]...800) && kept.count > 20)
    #expect(sink.ledger == Ledger(accepted: 800, settled: Tally(.delivered, 800), waiting: 0))
  }

  @Test("they make room when the disk has too little")
  func disk() throws {
    let disk = SimulatedDisk()
    var fixture = fixture()
    fixture.disk = disk
    fixture.configuration.minFreeDisk = 100_000
    disk.setFree(1 << 30)
    let log = try fixture.open()
    try settle(try filled(log, 200), through: 200, count: 200)
    let before = log.statistics
    disk.setFree(90_000)
    log.freeSpace.refresh()
    log.maintainInline()
    #expect(log.statistics.retainedBytes < before.retainedBytes)
    #expect(log.statistics.retainedBytes >= before.retainedBytes - 10_000 - 2 * 4096)
  }

  @Test("a destination that begins with the oldest waiting event isn't owed them; one that lost its record neither")
  func newDestinations() throws {
    var log = try fixture().open()
    let sink = try filled(log, 200)
    try settle(sink, through: 150, count: 150)
    let new = try log.subscribe("upstream", origin: .oldest)
    let owed = new.pending.events
    // From the beginning of the segment that isn't settled as a whole.
    #expect((50..<80).contains(owed))
    log.close()
    _ = directory.write("positions/sink.json", "damaged")
    log = try fixture().open()
    #expect(try log.subscribe("sink", origin: .oldest).pending.events == owed)
  }

  @Test("a scan's place in the log keeps what it has not read, however old")
  func pinned() throws {
    let log = try fixture(retain: .zero).open()
    let sink = try filled(log, 200)
    let scan = log.scan(from: 40)
    try settle(sink, through: 200, count: 200)
    let batch = EventBatch()
    var numbers: [UInt64] = []
    while try scan.read(ReadLimit(events: 10, bytes: 1 << 20), into: batch) {
      numbers += batch.events.map(\.sequence)
      log.maintainInline()
    }
    #expect(numbers == Array(40...200))
    #expect(log.statistics.segments == 1)
  }
}
