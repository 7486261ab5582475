import Clocks
import DeadLetters
import EventLog
import JSON
import Observability
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("A webhook's events that are sent again", .timeLimit(.minutes(1)))
struct WebhookReplayTests {
  private let directory = TemporaryDirectory()
  private let receiver = FakeReceiver()
  private let wall = SimulatedWall()
  private let now = ContinuousClock.now

  private func open() throws -> FileLog {
    try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"), replays: directory.file("replays"),
      configuration: FileLogConfiguration(segmentSize: 8192, maxSize: 64 << 20, minFreeDisk: 0), logger: .silent,
      metrics: MetricsRegistry())
  }

  private func worker(_ log: FileLog, linger: Duration = .zero) throws -> WebhookWorker {
    var options = WebhookOptions(url: "https://example.com/hook")
    options.maxBatchEvents = 4
    options.linger = linger
    receiver.forget()
    return WebhookWorker(
      options,
      SinkContext(
        name: "hook", subscription: try log.subscribe("hook", origin: .oldest), relay: "r-1",
        deadLetters: DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent), clock: wall.clock,
        metrics: MetricsRegistry(), logger: .silent),
      client: receiver, wake: SinkWake {}, roll: { 1 })
  }

  private func append(_ count: Int, to log: FileLog) async {
    let moment = wall.now
    await withCheckedContinuation { continuation in
      let text = Array(#"{"a":1}"#.utf8)
      let index = EventIndex(
        idHigh: 1, idLow: 2, installHash: 3, userHash: 0, length: text.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: moment, flags: [])
      let body = Array(repeatElement(text, count: count).joined())
      let events = (0..<count).map { DraftEvent(index: index, offset: $0 * text.count) }
      body.withUnsafeBytes { body in
        events.withUnsafeBufferPointer { events in
          let draft = FrameDraft(app: "ios", kind: .event, receivedAt: moment, body: body, events: events)
          log.append(draft) { _ in continuation.resume() }
        }
      }
    }
  }

  /// Has the events of these numbers sent again.
  private func replay(_ range: ClosedRange<UInt64>, of log: FileLog) throws {
    let queue = try log.replayQueue(of: "hook")
    let chunk = ReplayChunk()
    let batch = EventBatch()
    let scan = log.scan(from: range.lowerBound, to: range.upperBound + 1)
    while try scan.read(ReadLimit(events: 10, bytes: 1 << 20), into: batch) {
      for event in batch.events { chunk.add(event, app: batch.app(of: event), bytes: batch.bytes(of: event)) }
    }
    _ = try queue.put(chunk, note: [:])
    try queue.settle(putBack: Tally())
  }

  @discardableResult
  private func run(_ worker: WebhookWorker, at moment: ContinuousClock.Instant? = nil) -> SinkStep {
    while true {
      let next = worker.step(now: moment ?? now, settles: false)
      if next != .again { return next }
    }
  }

  private func answer(_ worker: WebhookWorker, _ status: Int = 200) {
    receiver.answer(.success(.init(status: status)))
    run(worker)
  }

  @Test("go in batches of their own, in turn with new ones, under their first numbers and another id")
  func turns() async throws {
    let log = try open()
    let worker = try worker(log)
    await append(4, to: log)
    run(worker)
    answer(worker)
    wall.pass(.seconds(1))
    try replay(1...4, of: log)
    run(worker)
    // The same events, and yet another message: a receiver that knows the first id takes this one too.
    #expect(receiver.requests.map(\.numbers) == [[1, 2, 3, 4], [1, 2, 3, 4]])
    #expect(receiver.requests[0].id != receiver.requests[1].id)
    try replay(1...4, of: log)
    await append(6, to: log)
    for _ in 0..<4 { answer(worker) }
    #expect(receiver.requests.dropFirst(2).map(\.numbers) == [[5, 6, 7, 8], [1, 2, 3, 4], [9, 10]])
    #expect(worker.context.subscription.ledger.waiting == 0)
    log.close()
  }

  @Test("keep their id over a crash, and take no new event into their batch")
  func crash() async throws {
    var log = try open()
    var worker = try worker(log)
    await append(6, to: log)
    run(worker)
    answer(worker)
    answer(worker)
    try replay(2...3, of: log)
    run(worker)
    await append(3, to: log)
    log.close()
    log = try open()
    worker = try self.worker(log)
    wall.pass(.seconds(60))
    run(worker)
    let requests = receiver.requests.suffix(2)
    #expect(requests.map(\.numbers) == [[2, 3], [2, 3]])
    #expect(Set(requests.map(\.id)).count == 1 && Set(requests.map(\.body)).count == 1)
    answer(worker, 400)
    #expect(receiver.requests.last?.numbers == [7, 8, 9])
    answer(worker)
    let ledger = worker.context.subscription.ledger
    #expect(ledger.waiting == 0 && ledger.settled == Tally([.delivered: 9, .refused: 2]))
    log.close()
  }

  @Test("don't wait while a few new ones linger, nor the other way round")
  func linger() async throws {
    let log = try open()
    let worker = try worker(log, linger: .seconds(100))
    await append(5, to: log)
    run(worker)
    answer(worker)
    // The fifth lingers.
    #expect(receiver.requests.map(\.numbers) == [[1, 2, 3, 4]])
    try replay(1...4, of: log)
    run(worker)
    #expect(receiver.requests.last?.numbers == [5])
    answer(worker)
    #expect(receiver.requests.last?.numbers == [1, 2, 3, 4])
    answer(worker)
    #expect(!receiver.isWaiting)
    log.close()
  }
}
