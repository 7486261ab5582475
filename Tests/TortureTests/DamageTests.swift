import EventLog
import Testing

@testable import Torture

@Suite("The damage that a torture run does")
struct DamageTests {
  /// A finished segment of three records, and one that is written to with two.
  private let records: [LogView.Record] = [
    .init(segment: "segment-1", offset: 512, length: 200, app: "a", sequences: 1...4),
    .init(segment: "segment-1", offset: 1024, length: 104, app: "b", sequences: 5...5),
    .init(segment: "segment-1", offset: 1536, length: 304, app: "a", sequences: 6...9),
    .init(segment: "segment-2", offset: 512, length: 200, app: "a", sequences: 10...12, isSealed: false),
    .init(segment: "segment-2", offset: 1024, length: 200, app: "a", sequences: 13...14, isSealed: false),
  ]

  @Test("a flipped bit lies in the one record that it hits", arguments: 0..<200)
  func flips(roll: UInt64) throws {
    let plan = try #require(
      DamagePlan.draw(.flip, records, knownThrough: 1, next: 15, roll: roll) { _ in true })
    let hit = try #require(plan.hits.first)
    #expect(plan.hits.count == 1 && plan.segment == hit.segment)
    #expect((hit.offset..<hit.offset + hit.length).contains(plan.offset))
    // Nothing tells the last record from a write that never ended.
    #expect(hit.sequences != 13...14)
  }

  @Test("a segment that is cut short loses all from there on", arguments: 0..<200)
  func truncations(roll: UInt64) throws {
    let plan = try #require(
      DamagePlan.draw(.truncate, records, knownThrough: 1, next: 15, roll: roll) { _ in true })
    #expect(plan.kind == .truncate && plan.segment == "segment-1")
    #expect(plan.hits == records[..<3].filter { $0.offset + $0.length > plan.offset })
  }

  @Test("the segment that is written to is cut short only where a position knows what was in it")
  func lastSegment() {
    let plans = (0..<200).compactMap {
      DamagePlan.draw(.truncate, records, knownThrough: 15, next: 15, roll: $0) { _ in true }
    }
    #expect(plans.contains { $0.segment == "segment-2" })
    #expect(DamagePlan.draw(.truncate, Array(records[3...]), knownThrough: 14, next: 15, roll: 1) { _ in true } == nil)
  }

  @Test("what somebody is owed is damaged first", arguments: 0..<50)
  func owedFirst(roll: UInt64) throws {
    let plan = try #require(
      DamagePlan.draw(.flip, records, knownThrough: 15, next: 15, roll: roll) { $0.sequences == 5...5 })
    #expect(plan.hits.map(\.sequences) == [5...5])
  }

  @Test("only whom an event is owed to may miss it, and each event counts once")
  func account() {
    var account = LossAccount()
    let events = [
      LossAccount.Held(sequence: 5, app: "a", number: 50), LossAccount.Held(sequence: 6, app: "a", number: 60),
    ]
    account.damage(events, destinations: ["raw", "hook"]) { $0 == "raw" || $1.sequence == 6 }
    account.damage(events, destinations: ["raw", "hook"]) { _, _ in true }
    #expect(account.excusedNumbers("raw") == [50, 60] && account.excusedNumbers("hook") == [60])
    #expect(account.expectedLost == ["raw": 2, "hook": 1])
  }

  @Test("a position that is put back takes the count of losses back with it")
  func restored() {
    var account = LossAccount()
    account.damage([.init(sequence: 5, app: "a", number: 50)], destinations: ["raw"]) { _, _ in true }
    account.restore("raw", lost: 7, missing: 100) { sequence, _ in sequence == 5 }
    #expect(account.expectedLost == ["raw": 108] && account.restored == ["raw"])
  }

  @Test("orders come to pass as often as they were given, and say which fault they are")
  func orders() {
    var orders = FaultOrders()
    orders.failingSyncs[.log] = 1
    orders.shortWrites[.log] = 1
    orders.failingReads[.files] = 1
    #expect(orders.judge(.sync, .files).fault == nil)
    #expect(orders.judge(.sync, .log) == (.fail(ErrorNumber.device), .failedSync))
    #expect(orders.judge(.sync, .log).treatment == .none)
    #expect(orders.judge(.write, .log) == (.shorten(ErrorNumber.device), .shortWrite))
    #expect(orders.judge(.read, .log).treatment == .none)
    #expect(orders.judge(.read, .files) == (.fail(ErrorNumber.device), .readError))
    orders.isFull = true
    orders.syncDelay = .milliseconds(5)
    #expect(orders.judge(.write, .log) == (.fail(ErrorNumber.noSpace), .diskFull))
    #expect(orders.judge(.sync, .log) == (.delay(.milliseconds(5)), .slowSync))
  }

  @Test("a line of the parent's is read as it was written; anything else is none")
  func lines() {
    let all: [ControlLine] = [
      .full(true), .full(false), .slowSync(30), .failSyncs(.log, 1), .failReads(.files, 2), .shortWrites(.log, 1),
      .clock(-7_200_000), .calm,
    ]
    for line in all { #expect(ControlLine(line.text) == line) }
    for text in ["", "full", "full x", "fail-syncs disk 1", "fail-syncs log", "slow-sync -1", "calm 1"] {
      #expect(ControlLine(text) == nil, "\(text)")
    }
  }
}
