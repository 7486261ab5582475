import EventLog
import Testing

@testable import Dedupe

@Suite("Repeated events")
struct DeduplicationTests {
  private let log = HeldLog()
  private let deduplication = Deduplication(window: .seconds(3600), maxIDs: 1000, clock: { 0 })

  @Test("are appended once and accepted again, of one batch too")
  func once() {
    let first = Request([1, 2, 1])
    #expect(first.send(deduplication, to: log).repeats.events == 1)
    log.store(0)
    #expect(first.isStored && log.sizes == [2])
    let again = Request([2, 3, 1])
    #expect(again.send(deduplication, to: log).repeats.events == 2)
    #expect(again.outcome == nil && log.sizes == [2, 1])
    log.store(1)
    #expect(again.isStored)
    let last = Request([3, 2])
    last.send(deduplication, to: log)
    #expect(last.isStored && log.sizes == [2, 1], "nothing to append, and nothing to wait for")
  }

  @Test("with other bytes count as conflicts, and aren't appended")
  func conflicts() {
    Request([1], text: #"{"a":1}"#).send(deduplication, to: log)
    log.store(0)
    #expect(Request([1], text: #"{"a":2}"#).send(deduplication, to: log).repeats.conflicts == 1)
    #expect(Request([1], text: #"{"a":1}"#).send(deduplication, to: log).repeats.conflicts == 0)
    #expect(Request([1], text: #"{"a":2}"#, app: "other").send(deduplication, to: log).repeats.events == 0)
  }

  @Test("are not answered before the first is stored")
  func waits() {
    let first = Request([1, 2])
    first.send(deduplication, to: log)
    let repeated = Request([2])
    let mixed = Request([3, 1])
    repeated.send(deduplication, to: log)
    mixed.send(deduplication, to: log)
    log.store(1)
    #expect(repeated.outcome == nil && mixed.outcome == nil)
    log.store(0)
    #expect(first.isStored && repeated.isStored && mixed.isStored)
    #expect([first, repeated, mixed].allSatisfy { $0.answers == 1 })
  }

  @Test("are refused when the first is, and count as new from then on", arguments: [AppendRefusal.logFull, .failed])
  func refused(refusal: AppendRefusal) {
    let first = Request([1, 2])
    first.send(deduplication, to: log)
    let repeated = Request([2])
    let mixed = Request([3, 1])
    repeated.send(deduplication, to: log)
    mixed.send(deduplication, to: log)
    log.store(1)
    log.refuse(0, refusal)
    #expect([first, repeated, mixed].allSatisfy { $0.outcome == .refused(refusal) && $0.answers == 1 })
    let again = Request([1, 2, 3])
    #expect(
      again.send(deduplication, to: log).fresh == [1, 2], "3 was stored, though its sender was told to come again")
  }

  @Test("of a request that is refused itself are refused, though they are stored")
  func ownRefusal() {
    Request([1]).send(deduplication, to: log)
    let mixed = Request([1, 2])
    mixed.send(deduplication, to: log)
    log.refuse(1, .logFull)
    #expect(mixed.outcome == nil)
    log.store(0)
    #expect(mixed.outcome == .refused(.logFull))
  }

  @Test("wait for several requests at once")
  func several() {
    for id in 1...3 as ClosedRange<UInt64> { Request([id]).send(deduplication, to: log) }
    let all = Request([3, 2, 1, 2])
    all.send(deduplication, to: log)
    log.store(2)
    log.store(0)
    #expect(all.outcome == nil)
    log.store(1)
    #expect(all.isStored && all.answers == 1)
  }
}
