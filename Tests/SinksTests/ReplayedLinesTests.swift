import Clocks
import Configuration
import DeadLetters
import EventLog
import Foundation
import JSON
import Observability
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("Events that a sink is sent again", .timeLimit(.minutes(1)))
struct ReplayedLinesTests {
  private let directory = TemporaryDirectory()
  private var bench: FileLogBench { FileLogBench(directory: directory) }
  private let time = Timestamp(milliseconds: 1_792_757_071_512)

  private func open() throws -> FileLog {
    try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"), replays: directory.file("replays"),
      configuration: FileLogConfiguration(
        segmentSize: 8192, maxSize: 64 << 20, minFreeDisk: 0, retain: .seconds(100_000 * 86_400)), logger: .silent,
      metrics: MetricsRegistry())
  }

  private func append(_ numbers: Range<Int>, to log: FileLog) async {
    var body: [UInt8] = []
    var events: [DraftEvent] = []
    for number in numbers {
      let text = #"{"n":\#(number)}"#
      let index = EventIndex(
        idHigh: 1, idLow: 2, installHash: 3, userHash: 0, length: text.utf8.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: time, flags: [])
      events.append(DraftEvent(index: index, offset: body.count))
      body += text.utf8
    }
    await withCheckedContinuation { continuation in
      body.withUnsafeBytes { body in
        events.withUnsafeBufferPointer { events in
          log.append(FrameDraft(app: "ios", kind: .event, receivedAt: time, body: body, events: events)) { _ in
            continuation.resume()
          }
        }
      }
    }
  }

  /// Puts the log's events with these numbers into the sink's queue.
  private func replay(_ numbers: ClosedRange<UInt64>, _ log: FileLog) throws {
    let queue = try log.replayQueue(of: "raw")
    let chunk = ReplayChunk()
    let batch = EventBatch()
    let scan = log.scan(from: numbers.lowerBound, to: numbers.upperBound + 1)
    while try scan.read(ReadLimit(events: 100, bytes: 1 << 20), into: batch) {
      for event in batch.events { chunk.add(event, app: "ios", bytes: batch.bytes(of: event)) }
    }
    #expect(try queue.put(chunk, note: [:]).stored == chunk.count)
    try queue.settle(putBack: Tally())
  }

  private var sequences: [Int] {
    get throws {
      try SinkBench.files(in: directory.file("lines")).flatMap { file in
        try readLines(directory.file("lines/\(file)")).map { try JSONValue(parsing: $0)["seq"]?.integer() ?? 0 }
      }
    }
  }

  @Test("are written once each, beside the new ones in their order, though relay and sink die again and again")
  func crashes() async throws {
    var again: [Int] = []
    for round in 0..<20 {
      let log = try open()
      let worker = try bench.worker(of: log, pattern: "lines/%Y-%m-%d.ndjson")
      await append(round * 10..<round * 10 + 10, to: log)
      // Of the round before: they were all written by now, or are written before this ends.
      if round > 0 {
        let first = UInt64(round - 1) * 10 + 1
        try replay(first...first + 4, log)
        again += (first...first + 4).map(Int.init)
      }
      for _ in 0..<round % 4 { _ = worker.step(now: .now, settles: round.isMultiple(of: 3)) }
      if round == 19 { while worker.step(now: .now, settles: true) == .again {} }
      // It goes as it is: neither stopped nor settled.
      log.close()
    }
    let found = try sequences
    #expect(found.sorted() == (Array(1...200) + again).sorted())
    var seen: Set<Int> = []
    let firsts = found.filter { seen.insert($0).inserted || !again.contains($0) }
    #expect(Set(firsts) == Set(1...200))
    let log = try open()
    #expect(try log.subscribe("raw", origin: .oldest).ledger.isBalanced)
    log.close()
  }

  @Test("of a position that was put back while they were under way: none is lost, none written twice")
  func olderPosition() async throws {
    let position = directory.file("positions/raw.json")
    func run(_ worker: NDJSONWorker) {
      while worker.step(now: .now, settles: true) == .again {}
      #expect(worker.condition.failure == nil)
    }
    var log = try open()
    var worker = try bench.worker(of: log, pattern: "lines/%Y-%m-%d.ndjson")
    await append(0..<10, to: log)
    run(worker)
    try replay(1...5, log)
    try worker.subscription.commit(attachment: nil)
    let copy = try #require(FileManager.default.contents(atPath: position))
    // Enough that the log lets go of what came before.
    for start in stride(from: 10, to: 1000, by: 10) {
      await append(start..<start + 10, to: log)
      run(worker)
    }
    worker.finish()
    log.close()
    let expected = (Array(1...1000) + Array(1...5)).sorted()
    #expect(try sequences.sorted() == expected)
    for steps in [0, 1, 2, 1000] {
      // It dies some steps after the copy was put back.
      try copy.write(to: URL(fileURLWithPath: position))
      for steps in [steps, 1000] {
        log = try open()
        worker = try bench.worker(of: log, pattern: "lines/%Y-%m-%d.ndjson")
        for _ in 0..<steps where worker.step(now: .now, settles: steps == 1000) != .again { break }
        let ledger = worker.subscription.ledger
        #expect(ledger.isBalanced && (steps < 1000 || ledger.waiting == 0))
        log.close()
      }
      #expect(try sequences.sorted() == expected)
    }
  }

  @Test("come in turn with new ones, and keep neither from being acknowledged")
  func turns() async throws {
    let log = try open()
    let subscription = try log.subscribe("raw", origin: .oldest)
    await append(0..<20, to: log)
    try replay(1...20, log)
    let reader = SinkReader(subscription, RelayConfiguration.Sink.Common(), logger: .silent)
    var lanes: [Lane] = []
    while try reader.read(ReadLimit(events: 5, bytes: 1 << 20)) {
      lanes.append(reader.lane)
      reader.note(reader.batch.events[...])
    }
    #expect(lanes.filter(\.isReplayed).count == 4 && lanes.count == 8)
    #expect(zip(lanes, lanes.dropFirst()).allSatisfy { $0 != $1 })
    #expect(reader.acknowledge() && !reader.hasUnacknowledged)
    #expect(subscription.ledger == Ledger(accepted: 20, settled: Tally(.delivered, 40), waiting: 0, replayed: 20))
    #expect(try !reader.read(ReadLimit(events: 5, bytes: 1 << 20)))
    log.close()
  }

  @Test("that the sink's user doesn't want are filtered like new ones")
  func filtered() async throws {
    let log = try open()
    let subscription = try log.subscribe("raw", origin: .oldest)
    await append(0..<10, to: log)
    try replay(1...10, log)
    var common = RelayConfiguration.Sink.Common()
    common.apps = ["web"]
    let reader = SinkReader(subscription, common, logger: .silent)
    while try reader.read(ReadLimit(events: 5, bytes: 1 << 20)) { reader.noteRest() }
    reader.acknowledge()
    #expect(subscription.ledger == Ledger(accepted: 10, settled: Tally(.filtered, 20), waiting: 0, replayed: 10))
    log.close()
  }
}
