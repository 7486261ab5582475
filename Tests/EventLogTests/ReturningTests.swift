import Clocks
import JSON
import TestSupport
import Testing

@testable import EventLog

@Suite("A subscription that is taken back")
struct ReturningTests {
  let directory = TemporaryDirectory()
  var fixture: LogFixture { LogFixture(directory: directory.path) }

  @Test("goes on with what is committed, as after a restart, for whoever subscribes next")
  func goesOn() throws {
    let log = try fixture.open()
    let first = try log.subscribe("raw", origin: .oldest)
    log.put(0..<10)
    #expect(try first.readAll(.all).count == 10)
    first.acknowledge(.all, 1...4, Tally(.delivered, 4))
    try first.commit(attachment: ["length": 4])
    // Acknowledged, and not committed with the file's length: it is owed again.
    first.acknowledge(.all, 5...7, Tally(.delivered, 3))
    #expect(throws: LogError.self) { try log.subscribe("raw", origin: .newest) }
    try log.takeBack("raw")
    log.put(10..<12)
    let second = try log.subscribe("raw", origin: .newest)
    #expect(second.attachment == ["length": 4])
    #expect(second.ledger == Ledger(accepted: 12, settled: Tally(.delivered, 4), waiting: 8))
    #expect(try second.readAll(.all).map(\.sequence) == Array(5...12))
    second.acknowledge(.all, 5...12, Tally(.delivered, 8))
    try second.commit(attachment: nil)
    #expect(second.ledger.isBalanced && second.pending.events == 0)
    // What a restart finds is the same.
    log.close()
    let again = try fixture.open().subscribe("raw", origin: .newest)
    #expect(again.ledger == Ledger(accepted: 12, settled: Tally(.delivered, 12), waiting: 0))
  }

  @Test("hands out anew what was read, in any lane")
  func rereads() throws {
    let log = try fixture.open()
    let first = try log.subscribe("upstream", origin: .oldest)
    for i in 0..<10 { log.put(app: i % 2 == 0 ? "a" : "b", i..<i + 1) }
    #expect(try first.readAll(.app("a")).count == 5)
    first.acknowledge(.app("b"), 2...4, Tally(.delivered, 2))
    try first.commit(attachment: nil)
    #expect(try first.readAll(.app("b")).count == 3)
    try log.takeBack("upstream")
    let second = try log.subscribe("upstream", origin: .newest)
    #expect(Set(second.readyLanes()) == [.app("a"), .app("b")])
    #expect(try second.readAll(.app("a")).map(\.sequence) == [1, 3, 5, 7, 9])
    #expect(try second.readAll(.app("b")).map(\.sequence) == [6, 8, 10])
    // And another may read the same as one lane.
    try log.takeBack("upstream")
    let third = try log.subscribe("upstream", origin: .newest)
    #expect(try third.readAll(.all).map(\.sequence) == [1, 3, 5, 6, 7, 8, 9, 10])
    #expect(third.ledger.isBalanced)
  }

  @Test("keeps its queue of events that are sent again open, and its place in that")
  func queue() throws {
    let log = try fixture.open()
    let first = try log.subscribe("sink", origin: .oldest)
    log.put(0..<6)
    let queue = try log.replayQueue(of: "sink")
    let chunk = ReplayChunk()
    let batch = EventBatch()
    while try first.read(.all, limit: ReadLimit(events: 10, bytes: 1 << 20), into: batch) {
      for event in batch.events { chunk.add(event, app: batch.app(of: event), bytes: batch.bytes(of: event)) }
    }
    #expect(try queue.put(chunk, note: [:]) == ReplayQueue.Put(stored: 6))
    try queue.settle(putBack: Tally())
    first.acknowledge(.allReplayed, 1...2, Tally(.delivered, 2))
    try first.commit(attachment: nil)
    first.acknowledge(.allReplayed, 3...4, Tally(.delivered, 2))
    try log.takeBack("sink")
    let second = try log.subscribe("sink", origin: .newest)
    #expect(try log.replayQueue(of: "sink") === queue)
    #expect(second.pending(.allReplayed).events == 4)
    #expect(try second.readAll(.allReplayed).map(\.sequence) == [3, 4, 5, 6])
    #expect(second.ledger.isBalanced)
    try second.discard()
    #expect(log.knownDestinations.isEmpty)
  }

  @Test("lets nothing of its segments go meanwhile")
  func segments() throws {
    let log = try fixture.open()
    let first = try log.subscribe("raw", origin: .oldest)
    for i in 0..<40 { log.put(i..<i + 1, size: 200) }
    first.acknowledge(.all, 1...40, Tally(.delivered, 40))
    // Nothing of it is committed.
    try log.takeBack("raw")
    log.maintainInline()
    #expect(log.statistics.oldestSequence == 1)
    let second = try log.subscribe("raw", origin: .newest)
    #expect(second.pending.events == 40)
    #expect(try second.readAll(.all).count == 40)
  }

  @Test("is dropped from like any other meanwhile, with what it had acknowledged and not committed")
  func droppedFrom() throws {
    var fixture = fixture
    fixture.configuration.maxSize = 16 << 10
    fixture.configuration.onFull = .dropOldest
    var log = try fixture.open()
    let first = try log.subscribe("raw", origin: .oldest)
    for i in 0..<10 { log.put(i..<i + 1, size: 200) }
    first.acknowledge(.all, 1...4, Tally(.delivered, 4))
    try first.commit(attachment: nil)
    first.acknowledge(.all, 5...7, Tally(.delivered, 3))
    try log.takeBack("raw")
    for i in 10..<100 { #expect(log.put(i..<i + 1, size: 200) == .stored(first: UInt64(i) + 1)) }
    let oldest = log.statistics.oldestSequence
    #expect(oldest > 10)
    let dropped = oldest - 1 - 4
    #expect(log.statistics.droppedEvents == dropped)
    let wanted = Ledger(
      accepted: 100, settled: Tally([.delivered: 4, .droppedLogFull: dropped]), waiting: 101 - oldest)
    #expect(wanted.isBalanced)
    let second = try log.subscribe("raw", origin: .newest)
    #expect(second.ledger == wanted)
    #expect(try second.readAll(.all).map(\.sequence) == Array(oldest...100))
    // What a restart finds is the same.
    log.close()
    log = try fixture.open()
    #expect(try log.subscribe("raw", origin: .newest).ledger == wanted)
  }

  @Test("there must be one of the name")
  func unknown() throws {
    let log = try fixture.open()
    #expect(throws: LogError.self) { try log.takeBack("nobody") }
  }
}
