import Clocks
import TestSupport
import Testing

@testable import EventLog

@Suite("What came around the events of a request")
struct EnvelopeTests {
  let directory = TemporaryDirectory()

  private func log(_ configure: (inout LogFixture) -> Void = { _ in }) throws -> FileLog {
    var fixture = LogFixture(directory: directory.path)
    fixture.configuration.segmentSize = 64 * 1024
    configure(&fixture)
    return try fixture.open()
  }

  /// Stores requests of 10 events; every third has nothing around its events.
  private func store(_ requests: Range<Int>, in log: FileLog, app: String = "ios") {
    for request in requests {
      Drafts.with(
        app: app, at: 1_800_000_000_000 + Int64(request), serials: request * 10..<request * 10 + 10,
        envelope: Self.envelope(request)
      ) { log.append($0) { _ in } }
      log.syncInline()
    }
  }

  private static func envelope(_ request: Int) -> [UInt8] {
    request % 3 == 2 ? [] : Array("{\"batchId\":\"\(request)\",\"events\":[".utf8)
  }

  /// Whether each event of the batch has its own bytes and its own request's envelope.
  private func isWhole(_ batch: EventBatch, _ subscription: any Subscription) -> Bool {
    batch.events.allSatisfy { event in
      subscription.isIntact(event, batch)
        && batch.envelope(of: event).elementsEqual(Self.envelope(Int(event.index.idHigh) / 10))
    }
  }

  @Test("is read with each of them, however many requests one read takes in, and again", arguments: [3, 10, 17, 1000])
  func reading(limit: Int) throws {
    let log = try log()
    let lanes = try log.subscribe("upstream", origin: .oldest)
    store(0..<20, in: log)
    let batch = EventBatch(capacity: 64)
    var count = 0
    while try lanes.read(.app("ios"), limit: ReadLimit(events: limit, bytes: 1 << 20), into: batch) {
      #expect(isWhole(batch, lanes))
      count += batch.events.count
    }
    #expect(count == 200)
    let ranges: [ClosedRange<UInt64>] = [5...7, 18...33, 120...121]
    #expect(
      try lanes.read(.app("ios"), again: ranges, limit: ReadLimit(events: 1000, bytes: 1 << 20), into: batch))
    #expect(batch.events.map(\.sequence) == ranges.flatMap(Array.init))
    #expect(isWhole(batch, lanes))
  }

  @Test("is there after a restart, and when a scan reads it")
  func restart() throws {
    var opened = try log()
    store(0..<6, in: opened)
    opened.close()
    opened = try log()
    let lanes = try opened.subscribe("upstream", origin: .oldest)
    let batch = EventBatch()
    #expect(try lanes.read(.app("ios"), limit: ReadLimit(events: 1000, bytes: 1 << 20), into: batch))
    #expect(batch.events.count == 60 && isWhole(batch, lanes))
    let scan = opened.scan(from: 0)
    #expect(try scan.read(ReadLimit(events: 1000, bytes: 1 << 20), into: batch))
    #expect(batch.events.count == 60 && isWhole(batch, lanes))
  }

  @Test("stays whole with what is left of a request in a segment that is rewritten")
  func rewriting() throws {
    let log = try log {
      $0.tuning.rewriteAfter = .zero
      $0.tuning.rewriteAbove = 0
    }
    let lanes = try log.subscribe("upstream", origin: .oldest)
    store(0..<200, in: log)
    #expect(try lanes.readAll(.app("ios")).count == 2000)
    // Of every tenth request the third and the eighth event wait.
    for request in 0..<200 as Range<UInt64> {
      guard request % 10 == 0 else {
        lanes.acknowledge(.app("ios"), request * 10 + 1...request * 10 + 10, Tally(.delivered, 10))
        continue
      }
      lanes.acknowledge(.app("ios"), request * 10 + 1...request * 10 + 2, Tally(.delivered, 2))
      lanes.acknowledge(.app("ios"), request * 10 + 4...request * 10 + 7, Tally(.delivered, 4))
      lanes.acknowledge(.app("ios"), request * 10 + 9...request * 10 + 10, Tally(.delivered, 2))
    }
    try lanes.commit(attachment: nil)
    let before = log.statistics.sizeBytes
    log.maintainInline()
    #expect(log.statistics.sizeBytes < before / 2)
    lanes.rewind(.app("ios"))
    let batch = EventBatch()
    var left: [UInt64] = []
    let limit = ReadLimit(events: 1000, bytes: 1 << 20, separatesRequests: true)
    while try lanes.read(.app("ios"), limit: limit, into: batch) {
      #expect(batch.events.count <= 2 && isWhole(batch, lanes))
      left += batch.events.map(\.sequence)
    }
    #expect(left == (1...2000 as ClosedRange<UInt64>).filter { [3, 8].contains($0 % 100) })
  }

  /// Puts all that is in the log into a destination's queue.
  private func replay(_ log: FileLog, to destination: String, limit: Int = 7) throws {
    let queue = try log.replayQueue(of: destination)
    let chunk = ReplayChunk()
    let batch = EventBatch()
    let scan = log.scan(from: 0)
    while try scan.read(ReadLimit(events: limit, bytes: 1 << 20), into: batch) {
      for event in batch.events {
        chunk.add(event, app: batch.app(of: event), bytes: batch.bytes(of: event), envelope: batch.envelope(of: event))
      }
    }
    #expect(try queue.put(chunk, note: [:]).stored == chunk.count)
    try queue.settle(putBack: Tally())
  }

  @Test("goes along into the queue of what is sent again, beside the first numbers, one request a read")
  func replays() throws {
    let log = try log()
    let lanes = try log.subscribe("upstream", origin: .oldest)
    store(0..<12, in: log)
    lanes.acknowledge(.app("ios"), 1...120, Tally(.delivered, 120))
    try replay(log, to: "upstream")
    let batch = EventBatch()
    var requests: [[UInt64]] = []
    let limit = ReadLimit(events: 1000, bytes: 1 << 20, separatesRequests: true)
    while try lanes.read(.replayed("ios"), limit: limit, into: batch) {
      #expect(isWhole(batch, lanes))
      requests.append(batch.events.map(\.original))
    }
    #expect(requests == (0..<12).map { request in (1...10).map { UInt64(request * 10 + $0) } })
    // A part of a request alone, and events without an envelope beside such with one.
    #expect(
      try lanes.read(.replayed("ios"), again: [25...34], limit: ReadLimit(events: 9, bytes: 1 << 20), into: batch))
    #expect(batch.events.map(\.original) == Array(25...33) && isWhole(batch, lanes))
  }

  @Test("counts against what a chunk may hold, and doesn't let a request be cut")
  func chunks() throws {
    let chunk = ReplayChunk()
    let event = StoredEvent(
      sequence: 1, index: Drafts.index(40, serial: 1), kind: .event, dialect: 1,
      receivedAt: Timestamp(milliseconds: 0), appIndex: 0, offset: 0)
    let bytes = [UInt8](repeating: 32, count: 40)
    func add(_ envelope: [UInt8]) {
      bytes.withUnsafeBytes { bytes in
        envelope.withUnsafeBytes { chunk.add(event, app: "web", bytes: bytes, envelope: $0) }
      }
    }
    func continues(_ envelope: [UInt8]) -> Bool {
      envelope.withUnsafeBytes { chunk.continues(event, app: "web", envelope: $0) }
    }
    let large = [UInt8](repeating: 1, count: ReplayChunk.bytesMax)
    #expect(!continues(large))
    add(large)
    #expect(chunk.isFull, "one event with much around it")
    #expect(continues(large) && !continues([2]) && !continues([]))
    add(large)
    #expect(chunk.frames.count == 1)
    add([2])
    add([])
    #expect(chunk.frames.map(\.events.count) == [2, 1, 1])
    #expect(!continues([]), "what has nothing around it may go in any company")
    chunk.removeAll()
    #expect(!chunk.isFull)
  }
}

@Suite("A read of one sender's request")
struct SeparateRequestTests {
  let directory = TemporaryDirectory()
  private let limit = ReadLimit(events: 100, bytes: 1 << 20, separatesRequests: true)

  @Test("ends with it, in each lane, and goes on with the next")
  func onwards() throws {
    let log = try LogFixture(directory: directory.path).open()
    let lanes = try log.subscribe("upstream", origin: .oldest)
    log.put(0..<3)
    log.put(app: "web", 3..<5)
    log.put(5..<6)
    log.put(6..<16)
    let batch = EventBatch()
    var reads: [[UInt64]] = []
    while try lanes.read(.app("ios"), limit: limit, into: batch) { reads.append(batch.events.map(\.sequence)) }
    #expect(reads == [[1, 2, 3], [6], Array(7...16)])
    #expect(try lanes.read(.app("web"), limit: limit, into: batch))
    #expect(batch.events.map(\.sequence) == [4, 5])
  }

  @Test("keeps to the other limits too, and the rest of a request is one by itself")
  func otherLimits() throws {
    let log = try LogFixture(directory: directory.path).open()
    let lanes = try log.subscribe("upstream", origin: .oldest)
    log.put(0..<10)
    log.put(10..<13)
    var limit = limit
    limit.events = 4
    let batch = EventBatch()
    var reads: [Int] = []
    while try lanes.read(.app("ios"), limit: limit, into: batch) { reads.append(batch.events.count) }
    #expect(reads == [4, 4, 2, 3])
  }

  @Test("leaves out what is settled, and never makes up for it from the next request")
  func settled() throws {
    let log = try LogFixture(directory: directory.path).open()
    let lanes = try log.subscribe("upstream", origin: .oldest)
    for request in 0..<3 { log.put(request * 4..<request * 4 + 4) }
    let batch = EventBatch()
    lanes.acknowledge(.app("ios"), 2...4, Tally(.delivered, 3))
    lanes.acknowledge(.app("ios"), 5...8, Tally(.delivered, 4))
    var reads: [[UInt64]] = []
    while try lanes.read(.app("ios"), limit: limit, into: batch) { reads.append(batch.events.map(\.sequence)) }
    #expect(reads == [[1], [9, 10, 11, 12]])
  }

  @Test("when it reads again takes the first request of the ranges alone")
  func again() throws {
    let log = try LogFixture(directory: directory.path).open()
    let lanes = try log.subscribe("upstream", origin: .oldest)
    for request in 0..<200 { log.put(request * 4..<request * 4 + 4) }
    #expect(try lanes.readAll(.app("ios")).count == 800)
    let batch = EventBatch()
    // Within one request, over two that lie together, and over two far apart.
    for (ranges, read) in [
      ([2...3], [2, 3]), ([3...6], [3, 4]), ([4...4, 700...701], [4]), ([7...7, 8...9], [7, 8]),
    ]
      as [([ClosedRange<UInt64>], [UInt64])]
    {
      #expect(try lanes.read(.app("ios"), again: ranges, limit: limit, into: batch))
      #expect(batch.events.map(\.sequence) == read)
    }
    // What was the first is settled meanwhile.
    lanes.acknowledge(.app("ios"), 1...4, Tally(.delivered, 4))
    #expect(try lanes.read(.app("ios"), again: [3...6], limit: limit, into: batch))
    #expect(batch.events.map(\.sequence) == [5, 6])
  }

  @Test("takes an identify call alone as ever")
  func kinds() throws {
    let log = try LogFixture(directory: directory.path).open()
    let lanes = try log.subscribe("upstream", origin: .oldest)
    log.put(0..<2)
    log.put(kind: .identify, 2..<3)
    log.put(3..<5)
    var limit = limit
    limit.separatesKinds = true
    let batch = EventBatch()
    var reads: [Int] = []
    while try lanes.read(.app("ios"), limit: limit, into: batch) { reads.append(batch.events.count) }
    #expect(reads == [2, 1, 2])
  }
}
