import Clocks
import EventLog
import Foundation
import Observability
import Synchronization
import TestSupport
import Testing

@testable import EventLog

@Suite("The file log under many threads")
struct ConcurrencyTests {
  let directory = TemporaryDirectory()

  private final class Totals: Sendable {
    let stored = Mutex<[UInt64: Int]>([:])
    let read = Mutex<[UInt64]>([])
  }

  @Test(
    "loses, repeats and mixes up nothing while threads append, read, acknowledge and commit", .timeLimit(.minutes(1)))
  func threads() throws {
    var fixture = LogFixture(directory: directory.path)
    fixture.configuration = FileLogConfiguration(segmentSize: 8 * 1024, maxSize: 64 << 20, minFreeDisk: 0)
    fixture.tuning = FileLogTuning(stagingSize: 16 * 1024)
    let log = try fixture.open()
    let lanes = try log.subscribe("lanes", origin: .oldest)
    let sink = try log.subscribe("sink", origin: .oldest)
    let totals = Totals()
    let (appenders, rounds, perFrame) = (4, 250, 4)
    let expected = appenders * rounds * perFrame

    let crew = Crew()
    let answered = DispatchGroup()
    for appender in 0..<appenders {
      crew.start {
        for round in 0..<rounds {
          let serial = (appender * rounds + round) * perFrame
          answered.enter()
          Drafts.with(app: "app\(appender % 3)", serials: serial..<serial + perFrame, size: 100) { draft in
            log.append(draft) { outcome in
              if case .stored(let first) = outcome { totals.stored.withLock { $0[first] = serial } }
              answered.leave()
            }
          }
        }
      }
    }
    for destination in [lanes, sink] {
      let progress = DispatchSemaphore(value: 0)
      destination.onProgress { progress.signal() }
      crew.start {
        let batch = EventBatch()
        var count = 0
        while count < expected {
          let ready: [Lane] = destination.destination == "sink" ? [.all] : destination.readyLanes()
          var progressed = false
          for lane in ready {
            while Self.read(lane, of: destination, into: batch) {
              progressed = true
              for event in batch.events where !destination.isIntact(event, batch) { Issue.record("mixed up") }
              if lane == .all { totals.read.withLock { $0 += batch.events.map(\.sequence) } }
              count += batch.events.count
              destination.acknowledge(
                lane, batch.events.first!.sequence...batch.events.last!.sequence, Tally(.delivered, batch.events.count))
              if !destination.ledger.isBalanced { Issue.record("the books don't balance") }
            }
            try? destination.commit(attachment: nil)
          }
          if !progressed, count < expected, progress.wait(timeout: .now() + 20) == .timedOut {
            Issue.record("\(destination.destination) has \(count), \(destination.ledger), \(destination.readyLanes())")
            return
          }
        }
      }
    }
    crew.wait()
    answered.wait()
    #expect(totals.stored.withLock { $0.count } == appenders * rounds)
    #expect(totals.read.withLock { $0 } == Array(1...UInt64(expected)))
    #expect(lanes.ledger == Ledger(accepted: UInt64(expected), settled: Tally(.delivered, expected), waiting: 0))
    #expect(sink.ledger == Ledger(accepted: UInt64(expected), settled: Tally(.delivered, expected), waiting: 0))
    log.close()
    #expect(log.put(0..<1) == .refused(.closed))
    let again = try fixture.open()
    #expect(again.statistics.acceptedEvents == UInt64(expected))
    #expect(again.statistics.corruptRecords == 0)
    #expect(again.statistics.spareSegments <= 2)
    again.close()
  }

  /// Reads on; what fails is told and tried again.
  private static func read(_ lane: Lane, of destination: any Subscription, into batch: EventBatch) -> Bool {
    for _ in 0..<100 {
      do {
        return try destination.read(lane, limit: ReadLimit(events: 30, bytes: 4096), into: batch)
      } catch {
        Issue.record("\(destination.destination): \(error)")
      }
    }
    return false
  }

  /// Threads of a test.
  private final class Crew: Sendable {
    private let done = DispatchGroup()

    func start(_ body: @escaping @Sendable () -> Void) {
      done.enter()
      Thread {
        body()
        self.done.leave()
      }.start()
    }

    func wait() { done.wait() }
  }

  @Test("keeps exact books while it drops, rewrites and recycles segments under its readers", .timeLimit(.minutes(1)))
  func dropping() throws {
    var fixture = LogFixture(directory: directory.path)
    fixture.configuration = FileLogConfiguration(
      segmentSize: 8 * 1024, maxSize: 96 * 1024, onFull: .dropOldest, minFreeDisk: 0)
    fixture.tuning = FileLogTuning(stagingSize: 16 * 1024)
    fixture.tuning.rewriteAtOnce()
    fixture.tuning.rewriteBelow = 0.9
    let log = try fixture.open()
    let (appenders, rounds, perFrame) = (3, 300, 3)
    let expected = UInt64(appenders * rounds * perFrame)
    let destinations = [try log.subscribe("lanes", origin: .oldest), try log.subscribe("sink", origin: .oldest)]
    let crew = Crew()
    let appending = Crew()
    let isOver = Mutex(false)
    for appender in 0..<appenders {
      appending.start {
        for round in 0..<rounds {
          let serial = (appender * rounds + round) * perFrame
          Drafts.with(app: "app\(appender)", serials: serial..<serial + perFrame, size: 100) { draft in
            log.append(draft) { outcome in if case .refused = outcome { Issue.record("\(outcome)") } }
          }
        }
      }
    }
    crew.start { while !isOver.withLock({ $0 }) { log.maintainInline() } }
    for destination in destinations {
      crew.start {
        let batch = EventBatch()
        var last: [Lane: UInt64] = [:]
        while true {
          let isLast = isOver.withLock { $0 }
          for lane in destination.destination == "sink" ? [.all] : destination.readyLanes() {
            while (try? destination.read(lane, limit: ReadLimit(events: 7, bytes: 4096), into: batch)) == true {
              for event in batch.events where !destination.isIntact(event, batch) { Issue.record("mixed up") }
              let (first, end) = (batch.events.first!.sequence, batch.events.last!.sequence)
              if first <= last[lane, default: 0] { Issue.record("\(first) after \(last[lane, default: 0])") }
              last[lane] = end
              // Every fifth batch stays parked.
              if first % 5 != 0 { destination.acknowledge(lane, first...end, Tally(.delivered, batch.events.count)) }
              if !destination.ledger.isBalanced { Issue.record("the books don't balance") }
            }
          }
          try? destination.commit(attachment: nil)
          if isLast { return }
        }
      }
    }
    appending.wait()
    _ = log.put(Int(expected)..<Int(expected) + 1)
    isOver.withLock { $0 = true }
    crew.wait()
    log.close()
    let again = try fixture.open()
    #expect(again.statistics.corruptRecords == 0)
    for destination in destinations {
      let before = destination.ledger
      #expect(before.accepted == expected + 1)
      let after = try again.subscribe(destination.destination, origin: .oldest)
      #expect(after.ledger == before)
      #expect(after.ledger.settled[.lost] == 0)
      var left = 0
      for lane in destination.destination == "sink" ? [.all] : after.pendingLanes() {
        left += try after.readAll(lane).count
      }
      #expect(UInt64(left) == before.waiting)
    }
    again.close()
  }
}
