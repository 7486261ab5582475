import Clocks
import EventLog
import JSON
import Observability
import Synchronization
import Testing

@testable import EventLog

@Suite("A subscription")
struct SubscriptionTests {
  let disk = SimulatedDisk()
  var fixture: LogFixture { LogFixture(directory: "/data", disk: disk) }

  @Test("has one owner: a second one of the name is refused")
  func second() throws {
    let log = try fixture.open()
    _ = try log.subscribe("upstream", origin: .oldest)
    #expect(throws: LogError.self) { try log.subscribe("upstream", origin: .oldest) }
    for name in ["", "a/b", "..", "a b", String(repeating: "x", count: 65), "ü"] {
      #expect(throws: LogError.self) { try log.subscribe(name, origin: .oldest) }
    }
    #expect(log.knownDestinations == ["upstream"])
  }

  @Test("that begins with the newest is owed only what comes, even over a crash before its first commit")
  func newest() throws {
    var log = try fixture.open()
    log.put(0..<5)
    var late = try log.subscribe("late", origin: .newest)
    #expect(late.ledger == Ledger(accepted: 0, settled: Tally(), waiting: 0))
    log.put(5..<7)
    #expect(try late.readAll(.app("ios")).map(\.sequence) == [6, 7])
    log = try fixture.open()
    log.put(7..<8)
    late = try log.subscribe("late", origin: .newest)
    #expect(late.ledger == Ledger(accepted: 3, settled: Tally(), waiting: 3))
    #expect(try late.readAll(.app("ios")).map(\.sequence) == [6, 7, 8])
  }

  @Test("holds its segments in a run where nobody opens it, until it is discarded")
  func absent() throws {
    var log = try fixture.open()
    _ = try log.subscribe("absent", origin: .oldest)
    for i in 0..<40 { log.put(i..<i + 1, size: 200) }
    log.close()
    log = try fixture.open()
    #expect(log.knownDestinations == ["absent"])
    let present = try log.subscribe("present", origin: .oldest)
    present.acknowledge(.all, 1...40, Tally(.delivered, 40))
    try present.commit(attachment: nil)
    #expect(log.statistics.oldestSequence == 1)
    let absent = try log.subscribe("absent", origin: .oldest)
    #expect(absent.ledger.waiting == 40)
    try absent.discard()
    #expect(log.statistics.segments == 1)
    #expect(log.knownDestinations == ["present"])
    #expect(throws: LogError.self) { try absent.commit(attachment: nil) }
  }

  @Test("hands out identify calls in batches of their own, in their place")
  func identify() throws {
    let log = try fixture.open()
    let lane = try log.subscribe("upstream", origin: .oldest)
    log.put(0..<2)
    log.put(kind: .identify, 2..<3)
    log.put(kind: .identify, 3..<4)
    log.put(4..<6)
    log.put(6..<7)
    let batch = EventBatch()
    var batches: [[UInt64]] = []
    while try lane.read(.app("ios"), limit: ReadLimit(events: 100, bytes: 9999, separatesKinds: true), into: batch) {
      #expect(Set(batch.events.map(\.kind)).count == 1)
      batches.append(batch.events.map(\.sequence))
    }
    #expect(batches == [[1, 2], [3], [4], [5, 6, 7]])
    lane.rewind(.app("ios"))
    #expect(try lane.read(.app("ios"), limit: ReadLimit(events: 100, bytes: 9999), into: batch))
    #expect(batch.events.count == 7)
  }

  @Test("keeps to the limits, but for one event that is larger")
  func limits() throws {
    let log = try fixture.open()
    let lane = try log.subscribe("upstream", origin: .oldest)
    log.put(0..<10, size: 100)
    let batch = EventBatch(capacity: 16)
    #expect(try lane.read(.all, limit: ReadLimit(events: 3, bytes: 9999), into: batch))
    #expect(batch.events.map(\.sequence) == [1, 2, 3])
    #expect(try lane.read(.all, limit: ReadLimit(events: 100, bytes: 202), into: batch))
    #expect(batch.events.map(\.sequence) == [4, 5])
    #expect(try lane.read(.all, limit: ReadLimit(events: 100, bytes: 5), into: batch))
    #expect(batch.events.map(\.sequence) == [6])
    #expect(try lane.read(.all, limit: ReadLimit(events: 100, bytes: 9999, lastSequence: 8), into: batch))
    #expect(batch.events.map(\.sequence) == [7, 8])
    #expect(try !lane.read(.all, limit: ReadLimit(events: 100, bytes: 9999, lastSequence: 8), into: batch))
    #expect(try lane.read(.all, limit: ReadLimit(events: 100, bytes: 9999), into: batch))
    #expect(batch.events.map(\.sequence) == [9, 10])
  }

  @Test("leaves a frame's events side by side with one comma between, ready to be sent on as they lie")
  func slab() throws {
    let log = try fixture.open()
    let lane = try log.subscribe("upstream", origin: .oldest)
    log.put(0..<3, size: 50)
    let batch = EventBatch()
    #expect(try lane.read(.app("ios"), limit: ReadLimit(events: 100, bytes: 9999), into: batch))
    let (first, last) = (batch.events[0], batch.events[2])
    let slab = batch.bytes[first.offset..<last.offset + last.index.length]
    #expect(
      slab.elementsEqual(
        [Drafts.event(0, size: 50), Drafts.event(1, size: 50), Drafts.event(2, size: 50)].joined(separator: [
          UInt8(ascii: ",")
        ])))
    #expect(batch.apps == ["ios"] && batch.app(of: last) == "ios")
  }

  @Test("is not read past too many holes, and goes on when the oldest is settled")
  func intervals() throws {
    var fixture = fixture
    fixture.tuning.intervalsMax = 4
    let log = try fixture.open()
    let lane = try log.subscribe("upstream", origin: .oldest)
    for i in 0..<30 { log.put(i..<i + 1) }
    let batch = EventBatch()
    var read: [UInt64] = []
    while try lane.read(.app("ios"), limit: ReadLimit(events: 2, bytes: 9999), into: batch) {
      read += batch.events.map(\.sequence)
      lane.acknowledge(.app("ios"), read.last!...read.last!, Tally(.delivered, 1))
    }
    #expect(read == Array(1...8))
    lane.acknowledge(.app("ios"), 1...1, Tally(.delivered, 1))
    #expect(try lane.read(.app("ios"), limit: ReadLimit(events: 2, bytes: 9999), into: batch))
    #expect(batch.events.map(\.sequence) == [9, 10])
    #expect(lane.ledger.isBalanced)
  }

  @Test("wakes after each sync, and knows which lanes have something")
  func progress() throws {
    let log = try fixture.open()
    let lane = try log.subscribe("upstream", origin: .oldest)
    let wakes = Counter()
    lane.onProgress { wakes.add() }
    let boxes = [log.stage(app: "a", 0..<1), log.stage(app: "b", 1..<2)]
    #expect(lane.readyLanes().isEmpty && boxes.allSatisfy { $0.all.isEmpty })
    log.syncInline()
    #expect(wakes.value == 1)
    #expect(Set(lane.readyLanes()) == [.app("a"), .app("b")])
    #expect(try lane.readAll(.app("a")).count == 1)
    #expect(lane.readyLanes() == [.app("b")])
    #expect(Set(lane.pendingLanes()) == [.app("a"), .app("b")])
    lane.acknowledge(.app("a"), 1...1, Tally(.refused, 1))
    #expect(lane.pendingLanes() == [.app("b")])
    #expect(try !lane.read(.app("nobody"), limit: ReadLimit(events: 1, bytes: 1), into: EventBatch()))
    #expect(lane.pending(.app("nobody")).events == 0)
  }

  @Test("knows when the oldest of what waits was received")
  func oldest() throws {
    let log = try fixture.open()
    let lane = try log.subscribe("upstream", origin: .oldest)
    let start: Int64 = 1_800_000_000_000
    for i in 0..<20 { log.put(app: i % 2 == 0 ? "a" : "b", at: start + Int64(i), i..<i + 1, size: 200) }
    func at(_ offset: Int64) -> Timestamp { Timestamp(milliseconds: start + offset) }
    #expect(lane.pending.oldestReceivedAt == at(0))
    lane.acknowledge(.app("a"), 1...5, Tally(.delivered, 3))
    #expect(lane.pending(.app("a")) == Pending(events: 7, oldestReceivedAt: at(6)))
    #expect(lane.pending.oldestReceivedAt == at(1))
    lane.acknowledge(.app("b"), 4...20, Tally(.delivered, 9))
    #expect(lane.pending(.app("b")) == Pending(events: 1, oldestReceivedAt: at(1)))
    lane.acknowledge(.app("b"), 2...2, Tally(.delivered, 1))
    #expect(lane.pending(.app("b")) == Pending(events: 0, oldestReceivedAt: nil))
  }

  @Test("keeps its books when a name changes from lanes by app to one lane, and back")
  func modes() throws {
    var log = try fixture.open()
    var sink = try log.subscribe("sink", origin: .oldest)
    for i in 0..<30 { log.put(app: "app\(i % 3)", i..<i + 1, size: 150) }
    sink.acknowledge(.app("app0"), 1...13, Tally(.delivered, 5))
    sink.acknowledge(.app("app1"), 5...5, Tally(.delivered, 1))
    sink.acknowledge(.app("app2"), 1...30, Tally(.delivered, 10))
    try sink.commit(attachment: nil)
    log.close()
    log = try fixture.open()
    sink = try log.subscribe("sink", origin: .oldest)
    let owed: [UInt64] = (1...30).filter { n in
      n % 3 == 1 ? n > 13 : n % 3 == 2 ? n != 5 : false
    }
    #expect(try sink.readAll(.all).map(\.sequence) == owed)
    #expect(sink.ledger == Ledger(accepted: 30, settled: Tally(.delivered, 16), waiting: 14))
    sink.acknowledge(.all, 2...14, Tally(.delivered, owed.count { $0 <= 14 }))
    try sink.commit(attachment: nil)
    log.close()
    log = try fixture.open()
    sink = try log.subscribe("sink", origin: .oldest)
    #expect(sink.ledger.waiting == UInt64(owed.count { $0 > 14 }))
    #expect(try sink.readAll(.app("app1")).map(\.sequence) == owed.filter { $0 > 14 && $0 % 3 == 2 })
    #expect(try sink.readAll(.app("app0")).map(\.sequence) == owed.filter { $0 > 14 && $0 % 3 == 1 })
    #expect(sink.ledger.isBalanced)
  }

  @Test("counts what is said of fewer or more events than there are without losing its balance")
  func wrongTallies() throws {
    let log = try fixture.open()
    let lane = try log.subscribe("upstream", origin: .oldest)
    log.put(0..<10)
    lane.acknowledge(.all, 1...4, Tally(.delivered, 9))
    #expect(lane.ledger == Ledger(accepted: 10, settled: Tally(.delivered, 4), waiting: 6))
    lane.acknowledge(.all, 1...6, Tally(.rejected, 1))
    #expect(lane.ledger == Ledger(accepted: 10, settled: Tally([.delivered: 4, .rejected: 1, .lost: 1]), waiting: 4))
    lane.acknowledge(.all, 50...60, Tally(.delivered, 11))
    #expect(lane.ledger.isBalanced)
    lane.acknowledge(.all, 0...UInt64.max, Tally(.delivered, 4))
    #expect(lane.ledger.waiting == 0)
    log.put(10..<11)
    #expect(try lane.readAll(.all).map(\.sequence) == [11])
  }

  @Test("of a thousand apps starts where it was, and visits only those with something", .timeLimit(.minutes(1)))
  func manyApps() throws {
    var fixture = fixture
    fixture.configuration.segmentSize = 256 * 1024
    fixture.configuration.maxSize = 64 << 20
    var log = try fixture.open()
    var lane = try log.subscribe("upstream", origin: .oldest)
    for round in 0..<3 {
      for app in 0..<1000 {
        let serial = round * 1000 + app
        _ = log.stage(app: "app-\(app)", serial..<serial + 1)
        if app % 50 == 49 { log.syncInline() }
      }
    }
    #expect(lane.readyLanes().count == 1000)
    for app in 0..<990 { lane.acknowledge(.app("app-\(app)"), 1...3000, Tally(.delivered, 3)) }
    for app in 990..<1000 {
      lane.acknowledge(.app("app-\(app)"), UInt64(app) + 1001...UInt64(app) + 1001, Tally(.delivered, 1))
    }
    try lane.commit(attachment: nil)
    let ledger = lane.ledger
    #expect(ledger == Ledger(accepted: 3000, settled: Tally(.delivered, 2980), waiting: 20))
    log.close()
    #expect(disk.bytes(of: "/data/positions/upstream.json")!.count < 2000)
    log = try fixture.open()
    lane = try log.subscribe("upstream", origin: .oldest)
    #expect(lane.ledger == ledger)
    #expect(lane.readyLanes().count == 10)
    for app in 990..<1000 {
      #expect(try lane.readAll(.app("app-\(app)")).map(\.sequence) == [UInt64(app) + 1, UInt64(app) + 2001])
    }
  }
}
