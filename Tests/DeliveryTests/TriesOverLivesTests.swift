import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("Tries over several lives")
struct TriesOverLivesTests {
  private let scene = Scene()

  @Test("of a batch that was tried before a restart say nothing about what came since")
  func newcomers() async {
    var configuration = OtherDialect.ordered.configuration()
    configuration.linger = .zero
    configuration.retry.maxAttempts = 3
    scene.upstream.answers { _ in .noConnection }
    scene.store([1, 2], app: "app", dialect: 102)
    let first = await scene.start(byApp: ["app": configuration])
    scene.simulation.advance(by: .milliseconds(1500))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2], [1, 2]])
    await scene.simulation.drive { await first.destination.engine.die() }
    scene.store(3...5, app: "app", dialect: 102)
    let life = await scene.start(byApp: ["app": configuration])
    scene.simulation.advance(by: .seconds(3))
    #expect(scene.upstream.sent.last?.numbers == [1, 2])
    #expect(scene.deadLetterNumbers == [1, 2])
    #expect(life.ledger.settled == Tally(.gaveUp, 2))
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally([.gaveUp: 2, .delivered: 3]))
  }
}
