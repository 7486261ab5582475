import Glibc
import TestSupport
import Testing

@testable import EventLog

@Suite("A destination that nobody works for")
struct YieldingTests {
  let directory = TemporaryDirectory()
  var fixture: LogFixture { LogFixture(directory: directory.path) }

  private func deliver(_ subscription: any Subscription, _ range: ClosedRange<UInt64>) throws {
    subscription.acknowledge(.all, range, Tally(.delivered, Int(range.upperBound - range.lowerBound) + 1))
    try subscription.commit(attachment: nil)
  }

  private func remove(_ log: FileLog, _ name: String) throws {
    try log.takeBack(name)
    _ = try log.subscribe(name, origin: .newest)
    try log.yield(name, from: log.nextSequence)
  }

  @Test("and that is owed nothing holds no segment; what goes is dropped in its books, what is there it goes on with")
  func owedNothing() throws {
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    let raw = try log.subscribe("raw", origin: .oldest)
    for i in 0..<50 { log.put(i..<i + 1) }
    try deliver(raw, 1...50)
    try deliver(upstream, 1...50)
    try remove(log, "raw")
    #expect(log.heldBytes["raw"] == 0)
    for i in 50..<400 { log.put(i..<i + 1) }
    #expect(log.statistics.segments > 4 && log.heldBytes["raw"] == 0)
    try deliver(upstream, 51...400)
    #expect(log.statistics.segments == 1)

    try log.takeBack("raw")
    let back = try log.subscribe("raw", origin: .newest)
    let rest = try back.readAll(.all).map(\.sequence)
    let oldest = log.statistics.oldestSequence
    #expect(rest == Array(oldest...400))
    #expect(
      back.ledger
        == Ledger(
          accepted: 400, settled: Tally([.delivered: 50, .droppedRemoved: oldest - 51]), waiting: UInt64(rest.count)))
    #expect(back.ledger.dropped == oldest - 51 && back.ledger.isBalanced)
    // It holds again what comes.
    for i in 400..<600 { log.put(i..<i + 1) }
    try deliver(upstream, 401...600)
    #expect(log.statistics.segments > 2)
    #expect(try back.readAll(.all).map(\.sequence) == Array(401...600))
  }

  @Test("holds what it was owed then, a few events in a small file; over a restart too, with the books exact")
  func owedSomething() throws {
    var fixture = fixture
    fixture.tuning.rewriteAtOnce()
    fixture.configuration.segmentSize = 16 * 1024
    var log = try fixture.open()
    var upstream = try log.subscribe("upstream", origin: .oldest)
    let raw = try log.subscribe("raw", origin: .oldest)
    for i in 0..<20 { log.put(i..<i + 1) }
    try deliver(raw, 1...17)
    try deliver(upstream, 1...20)
    try remove(log, "raw")
    for i in 20..<1000 { log.put(i..<i + 1) }
    try deliver(upstream, 21...1000)
    log.maintainInline()
    // The three events, and the active segment.
    #expect(log.statistics.segments == 2)
    let held = try #require(log.heldBytes["raw"])
    #expect(held > 0 && held < 2048)
    log.close()

    log = try fixture.open()
    upstream = try log.subscribe("upstream", origin: .oldest)
    _ = try log.subscribe("raw", origin: .newest)
    try log.yield("raw", from: 21)
    for i in 1000..<2000 { log.put(i..<i + 1) }
    try deliver(upstream, 1001...2000)
    log.maintainInline()
    #expect(log.statistics.segments == 2)
    #expect(try LogInspection.verify(directory.path).damages.isEmpty)
    log.close()

    log = try fixture.open()
    let back = try log.subscribe("raw", origin: .newest)
    let numbers = try back.readAll(.all).map(\.sequence)
    #expect(Array(numbers.prefix(3)) == [18, 19, 20] && numbers.last == 2000)
    let dropped = UInt64(2000 - 17 - numbers.count)
    #expect(back.ledger.settled == Tally([.delivered: 17, .droppedRemoved: dropped]))
    #expect(back.ledger.isBalanced && back.ledger.accepted == 2000)
    // What a view of the files gives is the same.
    let books = try #require(try LogView.read(directory.path).destinations.first { $0.name == "raw" }).books()
    #expect(books.missing == 0 && books.ledger == back.ledger)
  }

  @Test("never fills the log: nothing is refused, and nothing dropped that another is owed")
  func neverFull() throws {
    var fixture = fixture
    fixture.configuration = FileLogConfiguration(segmentSize: 4096, maxSize: 16 << 10, minFreeDisk: 0)
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    _ = try log.subscribe("raw", origin: .oldest)
    try remove(log, "raw")
    for i in 0..<500 {
      #expect(log.put(i..<i + 1, size: 200) == .stored(first: UInt64(i) + 1))
      if i % 10 == 9 { try deliver(upstream, UInt64(i) - 8...UInt64(i) + 1) }
    }
    #expect(log.statistics.droppedEvents == 0)
    #expect(upstream.ledger.settled == Tally(.delivered, 500))
  }

  @Test("keeps its segments when its positions can't be written, and gives up the same once they can")
  func failingDisk() throws {
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    _ = try log.subscribe("raw", origin: .oldest)
    try remove(log, "raw")
    for i in 0..<200 { log.put(i..<i + 1) }
    // A directory in the way of the file that is to be renamed.
    let path = directory.file("positions/raw.json.tmp")
    try #require(mkdir(path, 0o700) == 0)
    let before = log.statistics.segments
    try deliver(upstream, 1...200)
    #expect(log.statistics.segments == before)
    try #require(rmdir(path) == 0)
    try upstream.commit(attachment: nil)
    #expect(log.statistics.segments == 1)
    log.close()
    let again = try fixture.open()
    let raw = try again.subscribe("raw", origin: .newest)
    #expect(raw.ledger.isBalanced && raw.ledger.accepted == 200)
    #expect(raw.ledger.settled == Tally(.droppedRemoved, 200 - Int(raw.ledger.waiting)))
  }
}
