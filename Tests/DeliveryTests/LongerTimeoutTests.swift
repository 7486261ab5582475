import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("Requests under way with a longer timeout than others have")
struct LongerTimeoutTests {
  private let scene = Scene()

  @Test("explain what waits for them for as long as they may take, whatever is configured and answered since")
  func reload() async {
    var configuration = OtherDialect.apart.configuration()
    configuration.rateLimit = .off
    configuration.timeout = .seconds(300)
    for number in 1...41 { scene.store([number], app: "web", install: UInt64(number), dialect: 101) }
    scene.upstream.answers { $0.numbers[0] > 40 ? .hold : .accepted($0) }
    let life = await scene.start(byApp: ["web": configuration])
    scene.simulation.settle()
    scene.upstream.answers { .accepted($0) }
    configuration.timeout = .seconds(15)
    let upstreams = Upstreams(usual: Scene.configuration(), byApp: ["web": configuration])
    await scene.simulation.drive { await life.destination.reconfigure(upstreams) }
    scene.store([42], app: "web", install: 2, dialect: 101)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.count == 42 && scene.upstream.inFlight == 1)
    scene.simulation.advance(by: .seconds(300))
    #expect(life.status.stuckSince == nil)
    scene.simulation.advance(by: .seconds(30))
    #expect(life.status.stuckSince != nil)
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.status.stuckSince == nil)
    #expect(life.ledger.settled == Tally(.delivered, 42))
  }
}
