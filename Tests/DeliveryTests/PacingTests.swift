import Clocks
import EventLog
import Synchronization
import Testing

@testable import Delivery

@Suite("Pacing through the engine")
struct PacingTests {
  private let scene = Scene()

  @Test(
    "a lone install that is refused again and again is sent less at once, and all of it gets there",
    arguments: [1, 5])
  func loneInstall(most: Int) async {
    scene.store(1...20)
    scene.upstream.answers { $0.numbers.count > most ? .error(429, "rate_limited", retryAfter: "1") : .accepted($0) }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(7200))
    #expect(life.ledger.settled == Tally([.delivered: 20]))
    #expect(scene.upstream.sent.filter { $0.numbers.count <= most }.flatMap(\.numbers) == Array(1...20))
  }

  /// The most events that arrived in any 60 seconds.
  private func most(_ sent: [FakeUpstream.Sent]) -> Int {
    sent.indices.map { first in
      sent[first...].prefix { $0.at - sent[first].at < .seconds(60) }.reduce(0) { $0 + $1.numbers.count }
    }.max() ?? 0
  }

  @Test("a key never gets more than its limit in any minute, and lanes with one key share it")
  func key() async {
    scene.store(1...700, app: "ios")
    scene.store(701...1400, app: "android")
    let life = await scene.start(Scene.paced(500, 0, margin: 0.1))
    #expect(scene.upstream.sent.reduce(0) { $0 + $1.numbers.count } == 450)
    let waiting = life.status
    #expect(waiting.state == .paced && waiting.lanes.allSatisfy { $0.state == .paced && $0.retryAt != nil })
    #expect(waiting.detail?.contains("450 events in 60 s") == true && waiting.stuckSince == nil)
    scene.simulation.advance(by: .seconds(240))
    #expect(life.ledger.settled == Tally([.delivered: 1400]) && life.status.state == .running)
    #expect(most(scene.upstream.sent) <= 450)
    #expect(life.status.stuckSince == nil)
  }

  @Test("a request without an answer counts, and one that never left doesn't")
  func unknown() async {
    scene.store(1...100)
    scene.upstream.next(
      .failure(.init(kind: .timeout, description: "")), .failure(.init(kind: .connect, description: "")))
    let life = await scene.start(Scene.paced(100))
    scene.simulation.advance(by: .seconds(59))
    #expect(scene.upstream.sent.count == 1)
    scene.simulation.advance(by: .seconds(2))
    #expect(scene.upstream.sent.count == 2)
    scene.simulation.advance(by: .seconds(65))
    #expect(life.ledger.settled == Tally([.delivered: 100]))
  }

  @Test("what a key was sent counts over a crash and over a stop", arguments: [true, false])
  func restart(isCrash: Bool) async {
    scene.store(1...1000)
    let first = await scene.start(Scene.paced(500))
    scene.simulation.advance(by: .seconds(1))
    let before = scene.upstream.sent.count
    #expect(before == 5)
    if isCrash {
      await scene.simulation.drive { await first.destination.engine.die() }
    } else {
      await scene.simulation.drive { await first.destination.stop(until: scene.simulation.now) }
    }
    let second = await scene.start(Scene.paced(500))
    scene.simulation.advance(by: .seconds(58))
    #expect(scene.upstream.sent.count == before)
    scene.simulation.advance(by: .seconds(10))
    #expect(second.ledger.settled == Tally([.delivered: 1000]))
    #expect(most(scene.upstream.sent) <= 500)
  }

  @Test("a hot install's events wait, the others' go, and each install's order is kept")
  func hotInstall() async {
    for number in 1...400 {
      scene.store([number], install: number % 2 == 0 ? 7 : UInt64(1000 + number))
    }
    let life = await scene.start(Scene.paced(0, 50))
    #expect(life.ledger.settled == Tally([.delivered: 250]))
    let waiting = life.status.lanes.first
    #expect(waiting?.parkedInstalls == 1 && waiting?.state == .paced && waiting?.retryAt != nil)
    #expect(waiting?.detail?.contains("one install") == true)
    scene.simulation.advance(by: .seconds(300))
    #expect(life.ledger.settled == Tally([.delivered: 400]))
    let hot = scene.upstream.sent.flatMap(\.numbers).filter { $0 % 2 == 0 }
    #expect(hot == hot.sorted())
    #expect(hot.count == 200)
  }

  @Test("the install that is the cause of a 429 is found and waits alone")
  func foundInstall() async {
    for number in 1...200 { scene.store([number], install: UInt64(number % 100)) }
    scene.upstream.answers { sent in
      sent.numbers.contains { $0 % 100 == 42 } ? .error(429, "rate_limited", retryAfter: "2") : .accepted(sent)
    }
    let life = await scene.start(Scene.paced(10_000, 300))
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally([.delivered: 198]))
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(1200))
    #expect(life.ledger.settled == Tally([.delivered: 200]))
  }

  @Test("when somebody else uses the key up, less is sent for a while, and no install is blamed for long")
  func sharedKey() async {
    for number in 1...5000 { scene.store([number], install: UInt64(number % 1000)) }
    // Somebody else takes half of a sliding limit of 1000.
    let taken = Mutex<[(ContinuousClock.Instant, Int)]>([])
    scene.upstream.answers { sent in
      let used = taken.withLock { taken in
        taken.filter { sent.at - $0.0 < .seconds(60) }.reduce(0) { $0 + $1.1 }
      }
      guard used + sent.numbers.count <= 500 else { return .error(429, "rate_limited", retryAfter: "10") }
      taken.withLock { $0.append((sent.at, sent.numbers.count)) }
      return .accepted(sent)
    }
    let life = await scene.start(Scene.paced(1000, 300))
    scene.simulation.advance(by: .seconds(1200))
    #expect(life.ledger.settled == Tally([.delivered: 5000]))
    let refused = scene.upstream.sent.count - taken.withLock { $0.count }
    #expect(refused < 30, "\(refused) of \(scene.upstream.sent.count) requests")
  }
}
