import Clocks
import EventLog
import Synchronization
import Testing

@testable import Delivery

@Suite("A protocol whose requests are kept apart")
struct ApartTests {
  private let scene = Scene()
  private let upstream = OtherDialect.apart.configuration()

  private func start(_ configuration: UpstreamConfiguration? = nil) async -> Scene.Life {
    await scene.start(byApp: ["web": configuration ?? upstream])
  }

  private func store(_ numbers: some Sequence<Int>, _ person: UInt64, request: UInt64? = nil) {
    scene.store(numbers, app: "web", install: person, dialect: 101, request: request)
  }

  private var sent: [[Int]] { scene.upstream.sent.map(\.numbers) }

  @Test("each request holds what one sender's request brought, whole, and waits for no more")
  func whole() async {
    store([1], 7)
    store([2, 3, 4], 8, request: 1000)
    store([5], 9)
    var configuration = upstream
    configuration.linger = .seconds(3600)
    _ = await start(configuration)
    scene.simulation.settle()
    #expect(sent == [[1], [2, 3, 4], [5]])
  }

  @Test("one that is too long by the configuration goes in parts, in order")
  func parts() async {
    store(1...5, 8, request: 1000)
    store([6], 8)
    var configuration = upstream
    configuration.maxBatchEvents = 2
    _ = await start(configuration)
    scene.simulation.settle()
    #expect(sent == [[1, 2], [3, 4], [5], [6]])
  }

  @Test("several persons' requests are under way at once, one of each, and each person's come in order")
  func persons() async {
    var configuration = upstream
    configuration.rateLimit = .off
    for number in 1...300 { store([number], UInt64(number * number % 7)) }
    scene.upstream.answers { _ in .hold }
    _ = await start(configuration)
    var seen = 0
    var order: [Int: [Int]] = [:]
    var widest = 0
    while seen < 300 {
      let round = sent[seen...].flatMap(\.self)
      let persons = round.map { UInt64($0 * $0 % 7) }
      #expect(!round.isEmpty, "it goes on")
      #expect(Set(persons).count == persons.count, "two requests of one person at once: \(round)")
      for number in round { order[number * number % 7, default: []].append(number) }
      seen += round.count
      widest = max(widest, round.count)
      scene.upstream.release()
      scene.simulation.settle()
    }
    #expect(widest > 1)
    #expect(order.values.allSatisfy { $0 == $0.sorted() })
  }

  @Test("what fails alone lets others pass, is tried again for ever, and nothing of its person overtakes it")
  func stepsAside() async {
    for number in 1...60 { store([number], UInt64(number % 3)) }
    scene.upstream.answers { $0.numbers.contains(3) ? .error(503, "down") : .accepted($0) }
    let life = await start()
    scene.simulation.advance(by: .seconds(60))
    let others = (1...60).filter { $0 % 3 != 0 }
    #expect(Set(sent.flatMap(\.self)) == Set(others + [3]))
    #expect(life.ledger.settled == Tally(.delivered, others.count))
    let before = scene.upstream.sent.count
    scene.simulation.advance(by: .seconds(3600))
    let tries = scene.upstream.sent.dropFirst(before)
    #expect(tries.allSatisfy { $0.numbers == [3] })
    #expect((110...130).contains(tries.count), "one each 30 s: \(tries.count)")
    #expect(scene.deadLetters.isEmpty)
    // Others come and go meanwhile, and don't wait.
    store([61], 1)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(sent.last == [61])
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(31))
    #expect(sent.flatMap(\.self).suffix(20) == (1...20).map { $0 * 3 })
    #expect(life.ledger.settled == Tally(.delivered, 61))
    #expect(life.ledger.isBalanced)
  }

  @Test("a batch of one request that fails steps aside as it is, and is never halved")
  func batchAside() async {
    store(1...4, 5, request: 1000)
    for number in 5...8 { store([number], 6) }
    store([9], 5)
    scene.upstream.answers { $0.numbers.contains(2) ? .error(500, "down") : .accepted($0) }
    _ = await start()
    scene.simulation.advance(by: .seconds(300))
    #expect(Set(sent.filter { $0.contains(2) }) == [[1, 2, 3, 4]])
    #expect(!sent.flatMap(\.self).contains(9))
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(31))
    #expect(sent.suffix(2) == [[1, 2, 3, 4], [9]])
  }

  @Test("a hundred such requests in a row let others pass after a while, and leave them most of the key's limit")
  func manyAside() async {
    for number in 1...100 { store([number], UInt64(number)) }
    store([101], 101)
    scene.upstream.answers { $0.numbers[0] <= 100 ? .error(503, "down") : .accepted($0) }
    let life = await start()
    scene.simulation.advance(by: .seconds(2 * 100 * 30))
    #expect(life.ledger.settled == Tally(.delivered, 1))
    let before = scene.upstream.sent.count
    scene.simulation.advance(by: .seconds(3600))
    #expect((60...27 * 60).contains(scene.upstream.sent.count - before), "\(scene.upstream.sent.count - before)")
    for number in 102...150 { store([number], UInt64(number)) }
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally(.delivered, 50))
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(600))
    #expect(life.ledger.settled == Tally(.delivered, 150))
    checkLimit()
  }

  @Test("an outage gives up nothing, and when it ends each person's events come in order")
  func outage() async {
    for number in 1...200 { store([number], UInt64(number % 50)) }
    scene.upstream.answers { _ in .error(502, "down") }
    let life = await start()
    scene.simulation.advance(by: .seconds(86_400))
    #expect(life.ledger.settled == Tally())
    let tries = scene.upstream.sent.count
    #expect(tries < 86_400 / 30 + 20, "no more than one each 30 s, but for the first: \(tries)")
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(600))
    #expect(life.ledger.settled == Tally(.delivered, 200))
    var order: [Int: [Int]] = [:]
    for number in sent.dropFirst(tries).flatMap(\.self) { order[number % 50, default: []].append(number) }
    #expect(order.values.allSatisfy { $0 == $0.sorted() })
  }

  @Test("never more than 100 requests in any 60 s, those that are refused counted, by waiting and not by losing")
  func limit() async {
    for number in 1...450 { store([number], UInt64(number)) }
    let refused = Mutex(0)
    scene.upstream.answers { sent in
      let isRefused = refused.withLock { count in
        count += 1
        return count % 10 == 0
      }
      return isRefused ? .error(429, "rate_limited", retryAfter: "0") : .accepted(sent)
    }
    let life = await start()
    scene.simulation.advance(by: .seconds(59))
    #expect(scene.upstream.sent.count == 100)
    #expect(life.status.lanes.map(\.state) == [.paced])
    #expect(life.status.lanes.first?.detail?.contains("limit of 100 requests in 60 s") == true)
    scene.simulation.advance(by: .seconds(5 * 61))
    #expect(life.ledger.settled == Tally(.delivered, 450))
    checkLimit()
  }

  @Test("nor after a crash")
  func crash() async {
    for number in 1...300 { store([number], UInt64(number)) }
    let life = await start()
    scene.simulation.advance(by: .seconds(5))
    await scene.simulation.drive { await life.destination.engine.die() }
    let next = await start()
    scene.simulation.advance(by: .seconds(600))
    #expect(next.status.pending.events == 0)
    checkLimit()
  }

  private func checkLimit() {
    let moments = scene.upstream.sent.map(\.at)
    for (first, last) in zip(moments, moments.dropFirst(100)) { #expect(last - first >= .seconds(60)) }
  }

  @Test("a 429 is waited for, and neither halves nor parks")
  func rateLimited() async {
    store(1...4, 5, request: 1000)
    store([5], 6)
    scene.upstream.next(.error(429, "rate_limited", retryAfter: "7"))
    let life = await start()
    scene.simulation.advance(by: .milliseconds(6999))
    #expect(sent == [[1, 2, 3, 4]])
    #expect(life.status.lanes.first?.parkedInstalls == 0)
    scene.simulation.advance(by: .milliseconds(1))
    #expect(sent == [[1, 2, 3, 4], [1, 2, 3, 4], [5]])
  }

  @Test("a request without an answer is tried as often as retry.max_attempts says, and then given up; 429s don't count")
  func givesUp() async {
    store([1], 1)
    store([2], 2)
    var configuration = upstream
    configuration.retry.maxAttempts = 3
    configuration.concurrency = 1
    scene.upstream.answers { sent in sent.numbers == [1] ? .noConnection : .accepted(sent) }
    scene.upstream.next(.error(429, "rate_limited"), .error(503, "down"), .error(429, "rate_limited"))
    let life = await start(configuration)
    scene.simulation.advance(by: .seconds(120))
    #expect(sent.filter { $0 == [1] }.count == 5)
    #expect(life.ledger.settled == Tally([.gaveUp: 1, .delivered: 1]))
    #expect(scene.deadLetterNumbers == [1])
    #expect(scene.deadLetters.first?.reason == Outcome.gaveUp.rawValue)
    #expect(life.ledger.isBalanced)
  }

  @Test("and the tries before a restart count")
  func givesUpOverLives() async {
    store([1], 1)
    var configuration = upstream
    configuration.retry.maxAttempts = 4
    scene.upstream.answers { _ in .noConnection }
    let first = await start(configuration)
    scene.simulation.advance(by: .seconds(2))
    #expect(scene.upstream.sent.count == 2)
    await scene.simulation.drive { await first.destination.engine.die() }
    let life = await start(configuration)
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent.count == 4)
    #expect(life.ledger.settled == Tally(.gaveUp, 1))
  }
}
