import Foundation
import Glibc
import Observability
import Synchronization
import TestSupport
import Testing

@testable import EventLog

/// A log of a few tiny segments on the real disk, always full: each append rolls, waits or is refused, each commit frees.
@Suite("A tiny log under many threads")
struct TinyLogTests {
  let directory = TemporaryDirectory()

  private final class Books: Sendable {
    /// Which event each number was answered for.
    let stored = Mutex<[UInt64: Int]>([:])
    let refusals = Counter()
    let appendersLeft: Mutex<Int>
    init(appenders: Int) { appendersLeft = Mutex(appenders) }
  }

  private static func start(_ group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
    group.enter()
    Thread {
      body()
      group.leave()
    }.start()
  }

  private func fixture(_ onFull: FileLogConfiguration.OnFull) -> LogFixture {
    var fixture = LogFixture(directory: directory.path)
    fixture.configuration = FileLogConfiguration(
      durability: .fsync, segmentSize: 4096, maxSize: 24 * 1024, onFull: onFull, minFreeDisk: 0)
    fixture.tuning = FileLogTuning(retryAfterNoSpace: .milliseconds(5), stagingSize: 4096)
    return fixture
  }

  /// Appends frames of one to five events, each again until it is stored.
  private static func append(_ log: FileLog, _ books: Books, appender: Int, frames: Int) {
    var random = SeededGenerator(seed: UInt64(appender) &* 77 &+ 5)
    for frame in 0..<frames {
      let serial = (appender * frames + frame) * 5
      let count = 1 + random.below(5)
      let size = 40 + random.below(300)
      var isStored = false
      while !isStored {
        let answered = DispatchSemaphore(value: 0)
        let box = OutcomeBox()
        Drafts.with(app: "app\(serial % 3)", serials: serial..<serial + count, size: size) { draft in
          log.append(draft) { outcome in
            box.set(outcome)
            answered.signal()
          }
        }
        answered.wait()
        switch box.outcome {
        case .stored(let first):
          isStored = true
          books.stored.withLock { for i in 0..<count { $0[first + UInt64(i)] = serial + i } }
        case .refused(.logFull), .refused(.diskFull):
          books.refusals.add()
          sched_yield()
        default:
          Issue.record("\(String(describing: box.outcome))")
          return
        }
      }
    }
    books.appendersLeft.withLock { $0 -= 1 }
  }

  /// Reads, settles and commits until all has come; now and then it goes back instead.
  private static func read(
    _ subscription: any Subscription, isAll: Bool, _ books: Books, seed: UInt64
  ) -> [UInt64: Int] {
    var random = SeededGenerator(seed: seed)
    let progress = DispatchSemaphore(value: 0)
    subscription.onProgress { progress.signal() }
    let batch = EventBatch()
    var settled: [UInt64: Int] = [:]
    while true {
      let isOver = books.appendersLeft.withLock { $0 == 0 }
      var hasRead = false
      for lane in isAll ? [Lane.all] : subscription.readyLanes() {
        let limit = ReadLimit(events: 1 + random.below(40), bytes: 4096)
        guard (try? subscription.read(lane, limit: limit, into: batch)) == true else { continue }
        hasRead = true
        if random.once(in: 10) {
          subscription.rewind(lane)
          continue
        }
        for event in batch.events {
          if !subscription.isIntact(event, batch) { Issue.record("\(event.sequence) isn't itself") }
          if settled[event.sequence] != nil { Issue.record("\(event.sequence) came though it was settled") }
          settled[event.sequence] = Int(event.index.idHigh)
        }
        subscription.acknowledge(
          lane, batch.events.first!.sequence...batch.events.last!.sequence, Tally(.delivered, batch.events.count))
        if !subscription.ledger.isBalanced { Issue.record("\(subscription.ledger)") }
        if random.once(in: 4) { try? subscription.commit(attachment: nil) }
      }
      if hasRead { continue }
      try? subscription.commit(attachment: nil)
      if isOver, subscription.pending.events == 0 { return settled }
      _ = progress.wait(timeout: .now() + .milliseconds(20))
    }
  }

  @Test(
    "hands out every number once with its own bytes, and never stays refused",
    .timeLimit(.minutes(2)), arguments: [FileLogConfiguration.OnFull.reject, .dropOldest])
  func everythingOnce(onFull: FileLogConfiguration.OnFull) throws {
    let log = try fixture(onFull).open()
    let books = Books(appenders: 4)
    let frames = Int(ProcessInfo.processInfo.environment["EVENT_RELAY_LOG_FRAMES"] ?? "") ?? 400
    let subscriptions = [try log.subscribe("lanes", origin: .oldest), try log.subscribe("sink", origin: .oldest)]
    let group = DispatchGroup()
    let taken = Mutex<[String: [UInt64: Int]]>([:])
    for appender in 0..<4 { Self.start(group) { Self.append(log, books, appender: appender, frames: frames) } }
    for (at, subscription) in subscriptions.enumerated() {
      Self.start(group) {
        let read = Self.read(
          subscription, isAll: at == 1, books, seed: UInt64(at) + 3)
        taken.withLock { $0[subscription.destination] = read }
      }
    }
    group.wait()
    let stored = books.stored.withLock { $0 }
    #expect(stored.keys.sorted() == Array(1...UInt64(stored.count)))
    for subscription in subscriptions {
      let read = taken.withLock { $0[subscription.destination] ?? [:] }
      let ledger = subscription.ledger
      #expect(ledger.accepted == UInt64(stored.count))
      #expect(ledger.waiting == 0)
      #expect(read.allSatisfy { stored[$0.key] == $0.value })
      #expect(ledger.settled[.lost] == 0)
      if onFull == .reject {
        #expect(read.count == stored.count)
        #expect(ledger.settled == Tally(.delivered, stored.count))
      } else {
        // What was dropped while it was on its way counts as dropped, whatever became of it.
        #expect(UInt64(read.count) >= ledger.settled[.delivered])
        #expect(ledger.settled[.delivered] + ledger.settled[.droppedLogFull] == UInt64(stored.count))
        #expect(UInt64(stored.count - read.count) <= ledger.settled[.droppedLogFull])
      }
    }
    log.close()
    let again = try fixture(onFull).open()
    #expect(again.statistics.acceptedEvents == UInt64(stored.count))
    #expect(again.corruptRecords.value == 0)
    for subscription in subscriptions {
      #expect(try again.subscribe(subscription.destination, origin: .oldest).ledger == subscription.ledger)
    }
    again.close()
  }
}
