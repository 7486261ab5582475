import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("An event under suspicion whose install is over its limit")
struct SuspectLimitTests {
  private let scene = Scene()

  /// The most events that arrived in any 60 seconds.
  private func most(_ sent: [FakeUpstream.Sent]) -> Int {
    sent.indices.map { first in
      sent[first...].prefix { $0.at - sent[first].at < .seconds(60) }.reduce(0) { $0 + $1.numbers.count }
    }.max() ?? 0
  }

  @Test("waits for room like any other, and is judged after that")
  func waits() async {
    var configuration = Scene.configuration()
    configuration.rateLimit = RateLimit(events: 0, eventsPerInstall: 5, margin: 0)
    scene.store([1], install: 7)
    scene.upstream.answers { $0.numbers.contains(1) ? .status(500) : .accepted($0) }
    let life = await scene.start(configuration)
    scene.simulation.advance { scene.upstream.sent.count == 3 }
    // It has stepped aside; what comes next uses the install's limit up, and clears the way for its next try.
    scene.store(2...11, install: 7)
    life.subscription.progress()
    scene.simulation.advance { life.ledger.settled[.delivered] >= 5 }
    #expect(life.status.state == .paced && life.status.retryAt != nil)
    for next in 0..<30 {
      scene.store([12 + next], install: 7)
      life.subscription.progress()
      scene.simulation.advance(by: .seconds(600))
    }
    #expect(most(scene.upstream.sent) == 5)
    #expect(life.ledger.settled == Tally([.delivered: 40, .poison: 1]))
    #expect(scene.deadLetterNumbers == [1])
  }

  @Test("is no more due than others are kept from their tries by it")
  func held() throws {
    let now = ContinuousClock.now
    var hunt = PoisonHunt()
    for number: UInt64 in 1...2 {
      hunt.passed()
      let portion = Portion(
        events: EventRanges([.init(numbers: number...number, events: 1)]), attempts: 3, serverFaults: 3)
      #expect(hunt.fault(portion) == .stepAside)
    }
    let first = hunt.takeNext()
    hunt.hold(try #require(first), until: now + .seconds(60))
    #expect(hunt.events == 2 && hunt.nextDue == now + .seconds(60))
    hunt.release(at: now + .seconds(59))
    hunt.passed()
    let second = hunt.takeNext()
    #expect(second?.number == 2)
    #expect(hunt.isActive && !hunt.isDue(hasOthers: false))
    hunt.release(at: now + .seconds(60))
    #expect(hunt.isDue(hasOthers: true) && hunt.nextDue == nil, "others passed while it was held")
    let last = hunt.takeNext()
    #expect(last?.number == 1 && !hunt.isActive)
  }

  @Test("goes at once when a reload allows more")
  func reload() async {
    var configuration = Scene.configuration()
    configuration.rateLimit = RateLimit(events: 0, eventsPerInstall: 5, margin: 0)
    scene.store([1], install: 7)
    scene.upstream.answers { $0.numbers.contains(1) ? .status(500) : .accepted($0) }
    let life = await scene.start(configuration)
    scene.simulation.advance { scene.upstream.sent.count == 3 }
    scene.store(2...6, install: 7)
    life.subscription.progress()
    scene.simulation.advance { life.ledger.settled[.delivered] >= 5 }
    let before = scene.upstream.sent.count
    configuration.rateLimit.eventsPerInstall = 50
    await scene.simulation.drive { [configuration] in await life.destination.reconfigure(configuration) }
    scene.simulation.settle()
    #expect(scene.upstream.sent.count == before + 1 && scene.upstream.sent.last?.numbers == [1])
  }

  @Test("lets a flush end that has nothing else to wait for")
  func flush() async {
    var configuration = Scene.configuration()
    configuration.rateLimit = RateLimit(events: 0, eventsPerInstall: 5, margin: 0)
    scene.store([1], install: 7)
    scene.upstream.answers { $0.numbers.contains(1) ? .status(500) : .accepted($0) }
    let life = await scene.start(configuration)
    scene.simulation.advance { scene.upstream.sent.count == 3 }
    scene.store(2...6, install: 7)
    life.subscription.progress()
    scene.simulation.advance { life.ledger.settled[.delivered] >= 5 }
    let began = scene.simulation.now
    let result = await scene.simulation.drive { await life.destination.flush(until: began + .seconds(10)) }
    #expect(result.pending == 1 && scene.simulation.now == began)
  }
}
