import Clocks
import EventLog
import JSON
import Testing

@testable import Delivery

@Suite("What limits know of a time before")
struct LimitsOverLivesTests {
  private let scene = Scene()

  private func limited(_ events: Int, _ install: Int) -> UpstreamConfiguration {
    var configuration = Scene.configuration()
    configuration.rateLimit = RateLimit(events: events, eventsPerInstall: install, margin: 0)
    return configuration
  }

  private func stop(_ life: Scene.Life) async {
    await scene.simulation.drive { [now = scene.simulation.now] in await life.destination.stop(until: now) }
  }

  private var endedAt: Int64? { scene.log.disk.attachment?["ended_at_ms"]?.integer(as: Int64.self) }

  @Test("a stop in order is on record with limits for installs alone: a minute later all of each is there")
  func installsAlone() async {
    scene.store(1...10, install: 7)
    let first = await scene.start(limited(0, 50))
    await stop(first)
    #expect(endedAt != nil)
    scene.simulation.advance(by: .seconds(70))
    scene.store(11...60, install: 7)
    let second = await scene.start(limited(0, 50))
    #expect(second.ledger.settled == Tally(.delivered, 60))
  }

  @Test("a life that began in spite of an error doesn't stand as ended in order")
  func beginsAfterError() async {
    scene.store(1...10)
    let first = await scene.start(limited(500, 0))
    await stop(first)
    #expect(endedAt != nil)
    scene.log.failCommits("no room")
    scene.store(11...20)
    let second = await scene.start(limited(500, 0))
    #expect(endedAt != nil && second.status.state == .failing)
    scene.log.failCommits(nil)
    scene.simulation.advance(by: .seconds(6))
    #expect(second.ledger.settled[.delivered] == 20)
    #expect(scene.log.disk.attachment != nil && endedAt == nil)
  }

  @Test("what a key sent in the last minute counts when limits are turned on, though keys were cleared up since")
  func turnedOn() async {
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(3590))
    scene.store(1...100)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(15))
    #expect(scene.upstream.sent.count == 1)
    await scene.simulation.drive { [self] in await life.destination.reconfigure(limited(100, 0)) }
    scene.simulation.settle()
    scene.store(101...200)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(44))
    #expect(scene.upstream.sent.count == 1)
    scene.simulation.advance(by: .seconds(30))
    #expect(life.ledger.settled[.delivered] == 200)
  }

  @Test("and a key that was used longer ago is let go")
  func letGo() {
    let start = ContinuousClock.now
    let sending = SendingKey("aso_wk_any", limit: .off)
    #expect(sending.isIdle(at: start))
    sending.take(10)
    sending.settle(10, nil, isCounted: true, at: start)
    #expect(!sending.isIdle(at: start + .seconds(59)))
    #expect(sending.isIdle(at: start + .seconds(60)))
  }
}
