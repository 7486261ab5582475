import Clocks
import EventLog
import Observability
import TestSupport
import Testing

@testable import Dedupe

/// The whole of the memory against a real log, through ends at any moment.
@Suite("Ids over restarts", .timeLimit(.minutes(2)))
struct RestartTests {
  /// One life of a relay. Nothing but what a kill would leave is left at its end.
  private final class Life {
    let log: FileLog
    let deduplication: Deduplication
    let recorder: IDRecorder
    let journal: SharedJournal
    let subscription: any Subscription

    init(
      _ directory: TemporaryDirectory, _ disk: FaultyDisk, window: Duration, now: @escaping @Sendable () -> Timestamp
    )
      throws
    {
      let clock = WallClock(now)
      log = try FileLog.open(
        directory: directory.file("log"), positions: directory.file("positions"),
        configuration: FileLogConfiguration(segmentSize: 16384, maxSize: 8 << 20, minFreeDisk: 0), clock: clock,
        logger: .silent, metrics: MetricsRegistry())
      deduplication = Deduplication(window: window, maxIDs: 100_000, clock: { now().milliseconds })
      let opened = try IDKeeper.restore(
        deduplication, maxIDs: 100_000, log: log, directory: directory.file("dedupe"), behindMax: 1 << 20, disk: disk,
        clock: clock, logger: .silent)
      (recorder, journal, subscription) = (opened.recorder, opened.journal, opened.subscription)
    }
  }

  @Test(
    "what was accepted is known again, once and exactly, through ends at any moment",
    arguments: 1...6 as ClosedRange<UInt64>)
  func exact(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let directory = TemporaryDirectory()
    let disk = FaultyDisk()
    let time = Fact(Timestamp(milliseconds: 1_792_757_071_512))
    let window: Duration = .seconds(600)
    // When each id was stored last; those that were forgotten are not in it.
    var stored: [UInt64: (at: Timestamp, sequence: UInt64)] = [:]
    for _ in 0..<12 {
      let life = try Life(directory, disk, window: window) { time.value }
      defer { life.log.close() }
      let destination = try life.log.subscribe("upstream", origin: .oldest)
      for _ in 0..<Int.random(in: 1...25, using: &random) {
        let step = Int64.random(in: 0...8000, using: &random)
        time.change { $0 = $0 + .milliseconds(step) }
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6:
          let ids = (0..<Int.random(in: 1...8, using: &random)).map { _ in UInt64.random(in: 1...60, using: &random) }
          let now = time.value
          let request = Request(ids, at: now)
          let fresh = await request.sent(life.deduplication, to: life.log)
          let expected = Set(ids).filter { id in stored[id].map { now - $0.at >= window } ?? true }
          #expect(fresh.sorted() == expected.sorted(), "seed \(seed)")
          guard !fresh.isEmpty else { continue }
          guard case .stored(let first) = request.outcome else {
            Issue.record("not stored: \(String(describing: request.outcome))")
            continue
          }
          for (offset, id) in fresh.enumerated() { stored[id] = (now, first + UInt64(offset)) }
        case 6..<8: #expect(life.recorder.catchUp())
        case 8:
          disk.fail(after: Int.random(in: 0...2, using: &random))
          _ = life.recorder.catchUp()
          disk.fail(after: nil)
        default:
          guard let (id, last) = stored.randomElement(using: &random) else { continue }
          let key = EventKey(app: EventKey.hash(ofApp: "ios"), idHigh: id, idLow: 7)
          let isKnown = time.value - last.at < window
          let isForgotten = life.deduplication.forget(key, sequence: last.sequence)
          if isKnown { #expect(isForgotten, "seed \(seed)") }
          if isForgotten {
            try life.journal.writeSooner([
              IDRecord(.forgotten, key, sequence: last.sequence, body: 0, at: time.value)
            ])
          }
          stored[id] = nil
        }
        try settle(destination)
      }
    }
  }

  /// Lets the log have its segments back, so that what isn't recorded is held by the recorder's place alone.
  private func settle(_ destination: any Subscription) throws {
    let batch = EventBatch()
    while try destination.read(.all, limit: ReadLimit(events: 1000, bytes: 1 << 20), into: batch) {
      guard let first = batch.events.first, let last = batch.events.last else { continue }
      destination.acknowledge(.all, first.sequence...last.sequence, Tally(.delivered, batch.events.count))
    }
    try destination.commit(attachment: nil)
  }

  @Test("an event forgotten before it was recorded doesn't come back when the log is read again")
  func forgottenFirst() async throws {
    let directory = TemporaryDirectory()
    let now: @Sendable () -> Timestamp = { Timestamp(milliseconds: 1_792_757_071_512) }
    let key = EventKey(app: EventKey.hash(ofApp: "ios"), idHigh: 1, idLow: 7)
    do {
      let life = try Life(directory, FaultyDisk(), window: .seconds(600), now: now)
      defer { life.log.close() }
      let request = Request([1, 2], at: now())
      #expect(await request.sent(life.deduplication, to: life.log) == [1, 2])
      #expect(life.deduplication.forget(key, sequence: 1))
      try life.journal.writeSooner([IDRecord(.forgotten, key, sequence: 1, body: 0, at: now())])
    }
    for _ in 0..<2 {
      let life = try Life(directory, FaultyDisk(), window: .seconds(600), now: now)
      defer { life.log.close() }
      #expect(life.recorder.catchUp())
    }
    let life = try Life(directory, FaultyDisk(), window: .seconds(600), now: now)
    defer { life.log.close() }
    #expect(await Request([1, 2], at: now()).sent(life.deduplication, to: life.log) == [1])
  }

  @Test("a journal that can't be written holds the log up to its bound, and no longer")
  func letsGo() async throws {
    let directory = TemporaryDirectory()
    let disk = FaultyDisk()
    let now: @Sendable () -> Timestamp = { Timestamp(milliseconds: 1_792_757_071_512) }
    let life = try Life(directory, disk, window: .seconds(600), now: now)
    defer { life.log.close() }
    disk.fail(after: 0)
    let text = String(repeating: "x", count: 8000)
    var id: UInt64 = 0
    while life.subscription.behindBytes(.all) < 1 << 20 {
      id += 1
      _ = await Request([id], text: text, at: now()).sent(life.deduplication, to: life.log)
    }
    for _ in 0..<3 {
      id += 1
      _ = await Request([id], text: text, at: now()).sent(life.deduplication, to: life.log)
    }
    #expect(!life.recorder.catchUp())
    #expect(life.subscription.pending.events == 0)
    disk.fail(after: nil)
    #expect(await Request([id + 1], text: text, at: now()).sent(life.deduplication, to: life.log) == [id + 1])
    #expect(life.recorder.catchUp())
    #expect(life.deduplication.counts.ids == Int(id) + 1)
  }
}
