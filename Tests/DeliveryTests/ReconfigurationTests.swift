import EventLog
import TestSupport
import Testing

@testable import Delivery

@Suite("An upstream's configuration that changes while it is at work")
struct ReconfigurationTests {
  private let scene = Scene()

  @Test("with nothing waiting another upstream gets what comes from then on, also after a restart")
  func elsewhere() async {
    let life = await scene.start()
    scene.store([1])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    await scene.reconfigure(life, Scene.configuration(url: "http://other.test"))
    scene.store([2])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.map(\.url) == ["http://upstream.test/v1/events", "http://other.test/v1/events"])
    #expect(scene.log.disk.attachment?["url"]?.string == "http://other.test")
    let next = await scene.start(Scene.configuration(url: "http://other.test"))
    #expect(next.status.state == .running)
  }

  @Test("what waits for one upstream is held from another, and goes on when that is back")
  func held() async {
    scene.upstream.answers { _ in .noConnection }
    let life = await scene.start()
    scene.store(1...3)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    let tries = scene.upstream.sent.count
    #expect(tries > 0)
    await scene.reconfigure(life, Scene.configuration(url: "http://other.test"))
    #expect(life.status.state == .held)
    #expect(life.status.detail?.contains("--adopt") == true)
    scene.upstream.answers(FakeUpstream.Reply.accepted)
    scene.store([4])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(3600))
    #expect(scene.upstream.sent.count == tries)
    #expect(life.status.pending.events == 4)

    await scene.reconfigure(life, Scene.configuration())
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.status.state == .running && life.status.pending.events == 0)
    #expect(scene.upstream.sent.dropFirst(tries).allSatisfy { $0.url == "http://upstream.test/v1/events" })
    #expect(life.ledger.isBalanced)
  }

  @Test("an answer that was on its way counts, though another upstream is held")
  func underWay() async {
    scene.upstream.next(.hold)
    let life = await scene.start()
    scene.store([1])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.count == 1)
    await scene.reconfigure(life, Scene.configuration(url: "http://other.test"))
    #expect(life.status.state == .held && life.ledger.settled == Tally())
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.status.state == .held)
    #expect(life.ledger.settled == Tally(.delivered, 1) && life.status.pending.events == 0)
    await scene.reconfigure(life, Scene.configuration())
    scene.simulation.advance(by: .seconds(3600))
    #expect(scene.upstream.sent.count == 1)
    #expect(life.status.state == .running && life.ledger.isBalanced)
  }

  @Test("what is under way when another upstream is held, and the first is back, isn't sent twice")
  func underWayAndBack() async {
    scene.upstream.next(.hold)
    scene.store([1])
    let life = await scene.start()
    await scene.reconfigure(life, Scene.configuration(url: "http://other.test"))
    #expect(life.status.state == .held)
    await scene.reconfigure(life, Scene.configuration())
    scene.simulation.advance(by: .seconds(3600))
    #expect(scene.upstream.sent.count == 1 && scene.upstream.inFlight == 1)
    #expect(life.status.pending.events == 1)
    scene.upstream.release()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.count == 1)
    #expect(life.ledger.settled == Tally(.delivered, 1) && life.ledger.isBalanced)
  }

  @Test("limits and times hold for what is sent next")
  func limits() async {
    var configuration = Scene.configuration(linger: .seconds(3600))
    let life = await scene.start(configuration)
    scene.store(1...5)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(10))
    #expect(scene.upstream.sent.isEmpty)
    configuration.linger = .seconds(1)
    configuration.maxBatchEvents = 2
    await scene.reconfigure(life, configuration)
    scene.simulation.advance(by: .seconds(2))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2], [3, 4], [5]])
  }

  @Test("a higher limit of a key lets those that wait for it go at once, and what was sent before counts on")
  func higherLimit() async {
    scene.store(1...1000)
    let life = await scene.start(Scene.paced(200))
    scene.simulation.advance(by: .seconds(10))
    #expect(life.ledger.settled[.delivered] == 200)
    await scene.reconfigure(life, Scene.paced(500))
    scene.simulation.advance(by: .seconds(1))
    #expect(life.ledger.settled[.delivered] == 500)
    await scene.reconfigure(life, Scene.paced(0))
    scene.simulation.settle()
    #expect(life.ledger.settled[.delivered] == 1000)
  }

  @Test("a lower limit holds at once; one that was off lets nothing go for a minute, since nobody counted")
  func lowerLimit() async {
    let life = await scene.start(Scene.paced(500))
    scene.store(1...400)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    await scene.reconfigure(life, Scene.paced(100))
    scene.store(401...500)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(59))
    #expect(life.ledger.settled[.delivered] == 400)
    scene.simulation.advance(by: .seconds(3))
    #expect(life.ledger.settled[.delivered] == 500)

    await scene.reconfigure(life, Scene.paced(0))
    // One is under way when the limit comes.
    scene.upstream.next(.hold)
    scene.store(501...600)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.inFlight == 1)
    await scene.reconfigure(life, Scene.paced(200))
    scene.upstream.release()
    scene.simulation.settle()
    scene.store(601...700)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(59))
    #expect(life.ledger.settled[.delivered] == 600)
    scene.simulation.advance(by: .seconds(3))
    #expect(life.ledger.settled[.delivered] == 700)
  }

  @Test("an install's higher limit lets its parked events go at once")
  func installLimit() async {
    scene.store(1...100, install: 7)
    let life = await scene.start(Scene.paced(0, 30))
    scene.simulation.advance(by: .seconds(1))
    #expect(life.ledger.settled[.delivered] == 30)
    await scene.reconfigure(life, Scene.paced(0, 50))
    scene.simulation.settle()
    #expect(life.ledger.settled[.delivered] == 50)
    await scene.reconfigure(life, Scene.paced(0))
    scene.simulation.settle()
    #expect(life.ledger.settled[.delivered] == 100)
    #expect(scene.upstream.sent.flatMap(\.numbers) == Array(1...100))
  }

  @Test("another concurrency holds for lanes that are at work")
  func concurrency() async {
    for number in 1...6000 { scene.store([number], install: UInt64(number)) }
    scene.upstream.answers { _ in .hold }
    let life = await scene.start()
    func release(_ rounds: Int) {
      for _ in 0..<rounds {
        scene.upstream.release()
        scene.simulation.settle()
      }
    }
    release(5)
    #expect(scene.upstream.inFlightMost == 1)
    var configuration = Scene.configuration()
    configuration.concurrency = 4
    await scene.reconfigure(life, configuration)
    release(8)
    #expect(scene.upstream.inFlightMost > 1)
    configuration.concurrency = 1
    await scene.reconfigure(life, configuration)
    release(2)
    #expect(scene.upstream.inFlight == 1)
  }

  @Test("an app with another key waits no more for the budget of the last one")
  func otherKey() async {
    scene.keys.set("ios", "aso_wk_old")
    scene.store(1...300)
    let life = await scene.start(Scene.paced(100))
    scene.simulation.advance(by: .seconds(5))
    #expect(life.ledger.settled[.delivered] == 100)
    scene.keys.set("ios", "aso_wk_new")
    await scene.keysChanged(life)
    scene.simulation.settle()
    #expect(life.ledger.settled[.delivered] == 200)
    #expect(scene.upstream.sent.map(\.key) == ["aso_wk_old", "aso_wk_new"])
  }

  @Test("another upstream knows nothing of a key that the last one refused")
  func forgetsRefusals() async {
    scene.store(1...300)
    scene.upstream.answers { _ in .error(401, "invalid_write_key") }
    let life = await scene.start()
    #expect(life.ledger.settled == Tally(.refused, 300))
    #expect(life.status.lanes.map(\.state) == [.refused])
    scene.upstream.answers { .accepted($0) }
    await scene.reconfigure(life, Scene.configuration(url: "http://other.test"))
    scene.store(301...310)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([.refused: 300, .delivered: 10]))
    #expect(life.status.state == .running)
  }
}
