import Clocks
import JSON
import TestSupport
import Testing

@testable import EventLog

@Suite("Events that are sent again")
struct ReplayQueueTests {
  let directory = TemporaryDirectory()
  var fixture: LogFixture { LogFixture(directory: directory.path) }

  /// Puts what lies in the log, from one number to another, into a destination's queue.
  @discardableResult
  private func replay(_ log: FileLog, _ range: ClosedRange<UInt64>, to destination: String) throws -> ReplayQueue {
    let queue = try log.replayQueue(of: destination)
    let chunk = ReplayChunk()
    let batch = EventBatch()
    let scan = log.scan(from: range.lowerBound, to: range.upperBound + 1)
    while try scan.read(ReadLimit(events: 10, bytes: 1 << 20), into: batch) {
      for event in batch.events { chunk.add(event, app: batch.app(of: event), bytes: batch.bytes(of: event)) }
    }
    #expect(try queue.put(chunk, note: [:]) == ReplayQueue.Put(stored: chunk.count))
    try queue.settle(putBack: Tally())
    return queue
  }

  @Test("they keep their bytes and first numbers, come in a lane of their own, and disturb nothing of the others")
  func lanes() throws {
    let log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    for i in 0..<20 { log.put(app: i % 2 == 0 ? "a" : "b", at: 1_800_000_000_000 + Int64(i), i..<i + 1) }
    #expect(try sink.readAll(.all, events: 5).count == 20)
    sink.acknowledge(.all, 1...10, Tally(.delivered, 10))
    try replay(log, 3...8, to: "sink")
    #expect(sink.pending.events == 16)
    #expect(sink.pending(.all).events == 10)
    #expect(sink.pending(.allReplayed).events == 6)
    let again = try sink.readAll(.allReplayed)
    #expect(again.map(\.sequence) == Array(1...6))
    #expect(again.map(\.original) == Array(3...8))
    #expect(again.map(\.receivedAt.milliseconds) == (2...7).map { 1_800_000_000_000 + $0 })
    #expect(try sink.readAll(.all).isEmpty)
    sink.rewind(.all)
    #expect(try sink.readAll(.all).map(\.original) == Array(11...20))
    sink.acknowledge(.allReplayed, 1...6, Tally(.delivered, 6))
    #expect(sink.ledger == Ledger(accepted: 20, settled: Tally(.delivered, 16), waiting: 10, replayed: 6))
    #expect(sink.ledger.isBalanced)
  }

  @Test("by app they come in lanes by app")
  func lanesByApp() throws {
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    for i in 0..<20 { log.put(app: i % 2 == 0 ? "a" : "b", i..<i + 1) }
    upstream.acknowledge(.app("a"), 1...20, Tally(.delivered, 10))
    try replay(log, 1...4, to: "upstream")
    #expect(Set(upstream.readyLanes()) == [.app("b"), .replayed("a"), .replayed("b")])
    #expect(try upstream.readAll(.replayed("a")).map(\.original) == [1, 3])
    upstream.acknowledge(.replayed("a"), 1...3, Tally(.delivered, 2))
    #expect(Set(upstream.pendingLanes()) == [.app("b"), .replayed("b")])
    #expect(try upstream.readAll(.app("b")).count == 10)
  }

  @Test("one commit makes both positions durable: a queue whose own record is older follows the destination's")
  func oneCommit() throws {
    var log = try fixture.open()
    var sink = try log.subscribe("sink", origin: .oldest)
    for i in 0..<6 { log.put(i..<i + 1) }
    sink.acknowledge(.all, 1...6, Tally(.delivered, 6))
    try replay(log, 1...6, to: "sink")
    let record = directory.file("replays/sink/positions/queue.json")
    let before = try #require(readFile(record))
    sink.acknowledge(.allReplayed, 1...4, Tally(.delivered, 4))
    try sink.commit(attachment: ["length": 4])
    #expect(readFile(record) != before)
    log.close()
    // As if the process had ended between the two writes.
    _ = directory.write("replays/sink/positions/queue.json", String(decoding: before, as: UTF8.self))

    log = try fixture.open()
    sink = try log.subscribe("sink", origin: .oldest)
    #expect(sink.attachment == ["length": 4])
    #expect(try sink.readAll(.allReplayed).map(\.original) == [5, 6])
    #expect(sink.ledger == Ledger(accepted: 6, settled: Tally(.delivered, 10), waiting: 2, replayed: 6))
    // And before it: nothing of the queue is settled without the destination.
    sink.acknowledge(.allReplayed, 5...6, Tally(.delivered, 2))
    log.close()
    log = try fixture.open()
    #expect(try log.subscribe("sink", origin: .oldest).readAll(.allReplayed).map(\.original) == [5, 6])
  }

  @Test("what a crash left of a put is told at the next start by the queue's next number")
  func unsettledPuts() throws {
    var log = try fixture.open()
    _ = try log.subscribe("sink", origin: .oldest)
    for i in 0..<6 { log.put(i..<i + 1) }
    var queue = try replay(log, 1...2, to: "sink")
    let chunk = ReplayChunk()
    let batch = EventBatch()
    let scan = log.scan(from: 3, to: 6)
    #expect(try scan.read(ReadLimit(events: 10, bytes: 1 << 20), into: batch))
    for event in batch.events { chunk.add(event, app: "ios", bytes: batch.bytes(of: event)) }
    _ = try queue.put(chunk, note: ["lines": 3])
    log.close()

    log = try fixture.open()
    _ = try log.subscribe("sink", origin: .oldest)
    queue = try log.replayQueue(of: "sink")
    #expect(queue.unsettled == ReplayQueue.Unsettled(note: ["lines": 3], stored: 3))
    try queue.settle(putBack: Tally(.rejected, 3))
    #expect(queue.unsettled == nil)
    log.close()

    // Noted, and nothing of it written: as if the process had ended before the append.
    var journal = ReplayJournal()
    journal.putBack = Tally(.rejected, 3)
    journal.intent = ReplayJournal.Intent(next: 6, count: 3, note: ["lines": 4])
    try journal.write(directory.file("replays/sink"), RealDisk())
    log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    queue = try log.replayQueue(of: "sink")
    #expect(queue.unsettled == ReplayQueue.Unsettled(note: ["lines": 4], stored: 0))
    #expect(sink.ledger.putBack == Tally(.rejected, 3))
  }

  /// Opens a log whose queue ends in a put of four frames of an event each, the second of which is broken.
  private func openBroken(isSettled: Bool) throws -> (FileLog, any Subscription, ReplayQueue) {
    do {
      let log = try fixture.open()
      _ = try log.subscribe("sink", origin: .oldest)
      for i in 0..<6 { log.put(at: 1_800_000_000_000 + Int64(i), i..<i + 1) }
      let queue = try replay(log, 1...2, to: "sink")
      #expect(try queue.put(chunk(log, from: 3), note: [:]) == ReplayQueue.Put(stored: 4))
      if isSettled { try queue.settle(putBack: Tally()) }
    }
    let path = directory.file("replays/sink/log/segment-000000000001.log")
    let bytes = try #require(readFile(path))
    let place = try #require(bytes.firstRange(of: Drafts.event(3))).lowerBound + 20
    try RealDisk().open(path, .readWrite).writeBytes([bytes[place] ^ 1], at: place)
    let log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    return (log, sink, try log.replayQueue(of: "sink"))
  }

  private func chunk(_ log: FileLog, from first: UInt64) throws -> ReplayChunk {
    let chunk = ReplayChunk()
    let batch = EventBatch()
    let scan = log.scan(from: first)
    while try scan.read(ReadLimit(events: 10, bytes: 1 << 20), into: batch) {
      for event in batch.events { chunk.add(event, app: "ios", bytes: batch.bytes(of: event)) }
    }
    return chunk
  }

  @Test(
    "a put that never ended counts up to what is broken of it, though later frames are whole; the rest goes in again")
  func brokenPut() throws {
    var (log, sink, queue) = try openBroken(isSettled: false)
    #expect(queue.unsettled == ReplayQueue.Unsettled(note: [:], stored: 1))
    #expect(queue.log.tornWrites == 1 && queue.log.corruptRecords.value == 0)
    try queue.settle(putBack: Tally())
    #expect(try queue.put(chunk(log, from: 4), note: [:]) == ReplayQueue.Put(stored: 3))
    try queue.settle(putBack: Tally())
    #expect(try sink.readAll(.allReplayed).map(\.original) == [1, 2, 3, 4, 5, 6])
    #expect(sink.ledger.settled == Tally() && sink.ledger.replayed == 6)
    log.close()
    log = try fixture.open()
    sink = try log.subscribe("sink", origin: .oldest)
    #expect(try sink.readAll(.allReplayed).map(\.original) == [1, 2, 3, 4, 5, 6])
  }

  @Test("what is broken of a put that was settled is damage: named, and counted as lost")
  func brokenSettledPut() throws {
    let (_, sink, queue) = try openBroken(isSettled: true)
    #expect(queue.unsettled == nil)
    #expect(queue.log.tornWrites == 0 && queue.log.corruptRecords.value == 1)
    #expect(try sink.readAll(.allReplayed).map(\.original) == [1, 2, 3, 5, 6])
    #expect(sink.ledger.settled == Tally(.lost, 1) && sink.ledger.replayed == 6)
  }

  @Test(
    "a put's events are told to be in the queue by its numbers",
    arguments: [(5, 0), (6, 1), (8, 3), (9, 4), (400, 4)] as [(UInt64, Int)])
  func storedByNumbers(next: UInt64, stored: Int) {
    #expect(ReplayJournal.Intent(next: 5, count: 4, note: [:]).stored(next: next) == stored)
  }

  @Test("a damaged journal is kept aside, a newer one refused")
  func journals() throws {
    _ = directory.write("journal.json", "{\"format\":")
    #expect(try ReplayJournal.read(directory.path, RealDisk(), .silent) == ReplayJournal())
    #expect(readFile(directory.file("journal.json.damaged")) != nil)
    _ = directory.write("journal.json", #"{"format":"event-relay-replays","version":7,"put_back":{}}"#)
    #expect(throws: LogError.self) { try ReplayJournal.read(directory.path, RealDisk(), .silent) }
  }

  @Test("what a destination is owed at one moment can be kept and read again")
  func owed() throws {
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    for i in 0..<20 { log.put(app: i % 2 == 0 ? "a" : "b", i..<i + 1) }
    upstream.acknowledge(.app("a"), 1...20, Tally(.delivered, 10))
    upstream.acknowledge(.app("b"), 1...6, Tally(.delivered, 3))
    let owed = try #require(log.owed(by: "upstream"))
    let read = try #require(OwedEvents(JSONValue(parsing: owed.json.utf8), destination: "upstream"))
    for number in 1...20 as ClosedRange<UInt64> {
      #expect(read.contains(app: number % 2 == 1 ? "a" : "b", number) == (number % 2 == 0 && number > 6))
    }
    #expect(read.contains(app: "a", 21))
  }

  @Test("without room on the disk nothing of a put is in, and the same goes in once there is")
  func noRoom() throws {
    let disk = SimulatedDisk()
    var fixture = fixture
    fixture.disk = disk
    fixture.configuration.minFreeDisk = 100_000
    disk.setFree(1 << 30)
    let log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    for i in 0..<6 { log.put(i..<i + 1) }
    let queue = try replay(log, 1...2, to: "sink")
    let chunk = ReplayChunk()
    let batch = EventBatch()
    #expect(try log.scan(from: 3).read(ReadLimit(events: 10, bytes: 1 << 20), into: batch))
    for event in batch.events { chunk.add(event, app: "ios", bytes: batch.bytes(of: event)) }
    disk.setFree(50_000)
    queue.log.freeSpace.refresh()
    #expect(try queue.put(chunk, note: [:]) == ReplayQueue.Put(stored: 0, refusal: .diskFull))
    #expect(throws: LogError.self) { try queue.put(chunk, note: [:]) }
    try queue.settle(putBack: Tally())
    disk.setFree(1 << 30)
    queue.log.freeSpace.refresh()
    #expect(try queue.put(chunk, note: [:]) == ReplayQueue.Put(stored: 4))
    try queue.settle(putBack: Tally())
    #expect(try sink.readAll(.allReplayed).map(\.original) == [1, 2, 3, 4, 5, 6])
  }

  @Test("a queue whose files were removed leaves what waited in it counted as lost, and goes on")
  func filesRemoved() throws {
    var log = try fixture.open()
    var sink = try log.subscribe("sink", origin: .oldest)
    for i in 0..<10 { log.put(i..<i + 1) }
    try replay(log, 1...10, to: "sink")
    sink.acknowledge(.allReplayed, 1...4, Tally(.delivered, 4))
    try sink.commit(attachment: nil)
    log.close()
    for name in try RealDisk().list(directory.file("replays/sink/log")) {
      try RealDisk().unlink(directory.file("replays/sink/log/\(name)"))
    }
    log = try fixture.open()
    sink = try log.subscribe("sink", origin: .oldest)
    #expect(
      sink.ledger == Ledger(accepted: 10, settled: Tally([.delivered: 4, .lost: 6]), waiting: 10, replayed: 10))
    try replay(log, 1...2, to: "sink")
    #expect(try sink.readAll(.allReplayed).map(\.sequence) == [11, 12])
    #expect(sink.ledger.isBalanced)
  }

  @Test("a discarded destination leaves nothing of its replays behind")
  func discarded() throws {
    let log = try fixture.open()
    let sink = try log.subscribe("sink", origin: .oldest)
    log.put(0..<1)
    try replay(log, 1...1, to: "sink")
    try sink.discard()
    #expect(readFile(directory.file("replays/sink/journal.json")) == nil)
    #expect(log.knownDestinations.isEmpty)
  }
}
