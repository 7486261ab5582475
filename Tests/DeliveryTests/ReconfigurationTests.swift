import EventLog
import TestSupport
import Testing

@testable import Delivery

@Suite("An upstream's configuration that changes while it is at work")
struct ReconfigurationTests {
  private let scene = Scene()

  private func reconfigure(_ life: Scene.Life, _ configuration: UpstreamConfiguration) async {
    await scene.simulation.drive { await life.destination.reconfigure(configuration) }
  }

  @Test("with nothing waiting another upstream gets what comes from then on, also after a restart")
  func elsewhere() async {
    let life = await scene.start()
    scene.store([1])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    await reconfigure(life, Scene.configuration(url: "http://other.test"))
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
    await reconfigure(life, Scene.configuration(url: "http://other.test"))
    #expect(life.status.state == .held)
    #expect(life.status.detail?.contains("--adopt") == true)
    scene.upstream.answers(FakeUpstream.Reply.accepted)
    scene.store([4])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(3600))
    #expect(scene.upstream.sent.count == tries)
    #expect(life.status.pending.events == 4)

    await reconfigure(life, Scene.configuration())
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
    await reconfigure(life, Scene.configuration(url: "http://other.test"))
    #expect(life.status.state == .held)
    await reconfigure(life, Scene.configuration())
    #expect(life.status.pending.events == 1)
    // The request that is under way is not sent a second time meanwhile.
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.count == 1)
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
    await reconfigure(life, configuration)
    scene.simulation.advance(by: .seconds(2))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2], [3, 4], [5]])
  }
}
