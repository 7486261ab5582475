import Clocks
import EventLog
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite("Requests that are kept apart go whole")
struct WholeRequestsTests {
  private let scene = Scene()

  /// Stores one sender's request: numbers from 1 on, with a person each.
  private func store(_ first: Int, _ persons: [UInt64]) {
    for (place, person) in persons.enumerated() {
      scene.store([first + place], app: "web", install: person, dialect: 101, request: UInt64(first))
    }
  }

  private func configuration(_ change: (inout UpstreamConfiguration) -> Void = { _ in }) -> UpstreamConfiguration {
    var configuration = OtherDialect.apart.configuration()
    configuration.rateLimit = .off
    change(&configuration)
    return configuration
  }

  private var sent: [[Int]] { scene.upstream.sent.map(\.numbers) }

  @Test(
    "a request of several persons waits for one that has another under way, and its persons' later ones wait for it")
  func waits() async {
    // (How many may be under way grows with answers.)
    for number in 1...40 { store(number, [UInt64(1000 + number)]) }
    store(101, [1])
    store(102, [2, 1, 3])
    store(105, [3])
    store(106, [4])
    store(107, [2])
    scene.upstream.answers { _ in .hold }
    let life = await scene.start(byApp: ["web": configuration()])
    var rounds: [[Int]: Int] = [:]
    var round = 0
    while life.status.pending.events > 0, round < 100 {
      for request in sent where rounds[request] == nil { rounds[request] = round }
      round += 1
      scene.upstream.release()
      scene.simulation.settle()
    }
    #expect(sent.count == 45)
    let (first, batch) = (rounds[[101]] ?? -1, rounds[[102, 103, 104]] ?? -1)
    #expect(batch == first + 1)
    #expect(rounds[[106]] == first, "whoever has no part in it doesn't wait")
    #expect(rounds[[105]] == batch + 1 && rounds[[107]] == batch + 1)
    #expect(life.ledger.settled == Tally(.delivered, 47))
  }

  @Test(
    "however requests of several persons, answers, faults and restarts come about: each goes whole, each person's in order, all of them",
    arguments: 1...20 as ClosedRange<UInt64>)
  func atRandom(seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    let upstreams = ["web": configuration()]
    var requests: [[Int]] = []
    var person: [Int: UInt64] = [:]
    var next = 1
    let faults = Mutex(SeededGenerator(seed: seed &+ 99))
    scene.upstream.answers { sent in
      switch faults.withLock({ Int.random(in: 0..<12, using: &$0) }) {
      case 0: .error(503, "down")
      case 1: .error(429, "limited", retryAfter: "2")
      case 2: .noConnection
      case 3, 4, 5, 6: .hold
      default: .accepted(sent)
      }
    }
    var life = await scene.start(byApp: upstreams)
    var restarts: [Int] = []
    for _ in 0..<60 {
      for _ in 0..<Int.random(in: 1...6, using: &random) {
        let persons = (0..<Int.random(in: 1...4, using: &random)).map { _ in UInt64.random(in: 1...7, using: &random) }
        store(next, persons)
        for (place, one) in persons.enumerated() { person[next + place] = one }
        requests.append(Array(next..<next + persons.count))
        next += persons.count
      }
      life.subscription.progress()
      scene.simulation.advance(by: .milliseconds(Int.random(in: 0...4000, using: &random)))
      if Bool.random(using: &random) { scene.upstream.release() }
      if Int.random(in: 0..<15, using: &random) == 0 {
        await scene.simulation.drive { [life] in await life.destination.engine.die() }
        scene.upstream.release()
        scene.simulation.settle()
        restarts.append(sent.count)
        life = await scene.start(byApp: upstreams)
      }
    }
    scene.upstream.answers { .accepted($0) }
    for _ in 0..<200 {
      scene.upstream.release()
      scene.simulation.advance(by: .seconds(2))
    }
    #expect(life.status.pending.events == 0)
    #expect(life.ledger.settled == Tally(.delivered, next - 1) && life.ledger.isBalanced)
    #expect(Set(sent).isSubset(of: Set(requests)), "a request went in parts")
    #expect(Set(sent.flatMap(\.self)).count == next - 1)
    // Within a life nothing of a person is sent for the first time before what came earlier of theirs.
    for life in [0] + restarts {
      let end = restarts.first { $0 > life } ?? sent.count
      var latest: [UInt64: Int] = [:]
      var seen: Set<Int> = []
      for number in sent[life..<end].flatMap(\.self) where seen.insert(number).inserted {
        guard let one = person[number] else { continue }
        #expect(latest[one] ?? 0 < number, "\(number) of person \(one) was overtaken")
        latest[one] = number
      }
    }
  }

  @Test("never are two requests of one person under way at once")
  func never() async {
    var random = SeededGenerator(seed: 5)
    var persons: [Int: UInt64] = [:]
    for first in stride(from: 1, to: 900, by: 3) {
      let three = (0..<3).map { _ in UInt64.random(in: 1...30, using: &random) }
      for place in 0..<3 { persons[first + place] = three[place] }
      store(first, three)
    }
    scene.upstream.answers { _ in .hold }
    let life = await scene.start(byApp: ["web": configuration()])
    var seen = 0
    var widest = 0
    while life.status.pending.events > 0, scene.upstream.sent.count > seen {
      let round = sent[seen...]
      let each = round.map { Set($0.compactMap { persons[$0] }) }
      #expect(each.reduce(0) { $0 + $1.count } == each.reduce(Set<UInt64>()) { $0.union($1) }.count)
      widest = max(widest, round.count)
      seen = sent.count
      scene.upstream.release()
      scene.simulation.settle()
    }
    #expect(life.ledger.settled == Tally(.delivered, 900) && widest > 1)
  }

  @Test("the tries of what has stepped aside count over restarts, whatever passed meanwhile, and those of nothing else")
  func triesOverLives() async {
    let upstreams = ["web": configuration { $0.retry.maxAttempts = 8 }]
    for number in 1...20 { store(number, [UInt64(number)]) }
    store(21, [21, 22])
    scene.upstream.answers { $0.numbers.contains(21) || $0.numbers == [3] ? .error(503, "down") : .accepted($0) }
    for round in 1...3 {
      let life = await scene.start(byApp: upstreams)
      scene.simulation.advance(by: .seconds(40))
      store(100 + round, [UInt64(100 + round)])
      life.subscription.progress()
      scene.simulation.advance(by: .seconds(1))
      await scene.simulation.drive { await life.destination.engine.die() }
    }
    let life = await scene.start(byApp: upstreams)
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled == Tally([.gaveUp: 3, .delivered: 22]))
    #expect(scene.deadLetterNumbers.sorted() == [3, 21, 22])
    #expect(sent.count { $0 == [3] } == 8)
    #expect(sent.count { $0 == [21, 22] } == 8)
  }

  @Test("what an older program had on record is read, and what is damaged of it costs a count")
  func record() throws {
    var record = UpstreamRecord(url: "http://a.test", relay: "r")
    let tried = Tried(numbers: 5...9, tries: Tries(attempts: 4, unanswered: 3))
    record.tried = [UpstreamRecord.TriedRecord(app: "web", isReplayed: true, tried)]
    record.pauses = [
      UpstreamRecord.PauseRecord(key: "k", retryAt: Timestamp(milliseconds: 5), wait: .seconds(60), detail: "why")
    ]
    #expect(try UpstreamRecord(record.json) == record)
    let old = try UpstreamRecord(["version": 1, "url": "http://a.test"])
    #expect(old.tried.isEmpty && old.pauses.isEmpty)
    let damaged = try UpstreamRecord([
      "version": 1, "tried": [["app": "web", "first": 9, "last": 5], 7], "pauses": [["key": "k", "wait_ms": -1]],
    ])
    #expect(damaged.tried.isEmpty && damaged.pauses.isEmpty)
  }
}
