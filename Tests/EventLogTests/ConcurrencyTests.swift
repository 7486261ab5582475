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

    var threads: [Thread] = []
    let done = DispatchGroup()
    func start(_ body: @escaping @Sendable () -> Void) {
      done.enter()
      let thread = Thread {
        body()
        done.leave()
      }
      threads.append(thread)
      thread.start()
    }
    let answered = DispatchGroup()
    for appender in 0..<appenders {
      start {
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
      start {
        let batch = EventBatch()
        var count = 0
        while count < expected {
          let ready: [Lane] = destination.destination == "sink" ? [.all] : destination.readyLanes()
          var progressed = false
          for lane in ready {
            while (try? destination.read(lane, limit: ReadLimit(events: 30, bytes: 4096), into: batch)) == true {
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
          if !progressed && count < expected { progress.wait() }
        }
      }
    }
    done.wait()
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
}
