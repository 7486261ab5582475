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

  @Test("of a batch that is under way again when the relay ends count on")
  func underWay() async {
    var configuration = OtherDialect.ordered.configuration()
    configuration.linger = .zero
    configuration.retry.maxAttempts = 3
    scene.upstream.next(.noConnection, .hold)
    scene.upstream.answers { _ in .noConnection }
    scene.store([1, 2], app: "app", dialect: 102)
    let apps = ["app": configuration, "other": configuration]
    let first = await scene.start(byApp: apps)
    scene.simulation.advance(by: .milliseconds(1500))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2], [1, 2]])
    #expect(scene.upstream.inFlight == 1)
    // Another lane's failure has the record written meanwhile.
    scene.store([3], app: "other", dialect: 102)
    first.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.last?.numbers == [3])
    #expect(first.subscription.attachment?["lanes"]?.array?.count == 2)
    await scene.simulation.drive { await first.destination.engine.die() }
    let before = scene.upstream.sent.count
    let life = await scene.start(byApp: apps)
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent[before...].filter { $0.numbers == [1, 2] }.count == 2)
    #expect(scene.deadLetters.filter { [1, 2].contains($0.sequence) }.map(\.attempts) == [3, 3])
    #expect(life.ledger.settled == Tally(.gaveUp, 3))
  }
}
