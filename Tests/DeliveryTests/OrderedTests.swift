import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("A protocol whose batches keep their order")
struct OrderedTests {
  private let scene = Scene()
  private let upstream = OtherDialect.ordered.configuration()

  private func start(_ configuration: UpstreamConfiguration? = nil) async -> Scene.Life {
    await scene.start(byApp: ["app": configuration ?? upstream])
  }

  private func store(_ numbers: some Sequence<Int>) { scene.store(numbers, app: "app", dialect: 102) }

  private var sent: [[Int]] { scene.upstream.sent.map(\.numbers) }

  @Test("goes with twenty waiting, or after its linger, and holds up to a hundred")
  func batches() async {
    let life = await start()
    store(1...19)
    life.subscription.progress()
    scene.simulation.advance(by: .milliseconds(4999))
    #expect(sent.isEmpty)
    scene.simulation.advance(by: .milliseconds(1))
    #expect(sent == [Array(1...19)])
    store(20...39)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(sent.last == Array(20...39))
    store(40...289)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(sent.dropFirst(2) == [Array(40...139), Array(140...239), Array(240...289)])
  }

  @Test("bisects what is refused as a whole until the bad ones are alone, in order")
  func bisects() async {
    let bad: Set = [7, 8, 93, 250]
    store(1...300)
    scene.upstream.answers { bad.isDisjoint(with: $0.numbers) ? .accepted($0) : .error(400, "invalid_request") }
    let life = await start()
    scene.simulation.settle()
    #expect(scene.deadLetterNumbers == bad.sorted())
    #expect(life.ledger.settled == Tally([.delivered: 296, .refused: 4]))
    let taken = sent.filter { bad.isDisjoint(with: $0) }.flatMap(\.self)
    #expect(taken == (1...300).filter { !bad.contains($0) })
    #expect(scene.upstream.inFlightMost == 1)
  }

  @Test("pauses at the first refusal of its key, keeps all, and asks with one batch a minute", arguments: [401, 403])
  func pauses(status: Int) async {
    store(1...250)
    scene.upstream.answers { _ in .error(status, "unauthorized") }
    let life = await start()
    scene.simulation.advance(by: .milliseconds(59_999))
    #expect(sent == [Array(1...100)])
    #expect(life.status.lanes.map(\.state) == [.refused])
    scene.simulation.advance(by: .milliseconds(1))
    #expect(sent == [Array(1...100), Array(1...100)])
    scene.simulation.advance(by: .seconds(3600))
    #expect(sent.count == 62)
    #expect(scene.deadLetters.isEmpty && life.ledger.settled == Tally())
    // Over a restart too.
    await scene.simulation.drive { await life.destination.engine.die() }
    let next = await start()
    scene.upstream.answers { .accepted($0) }
    let before = sent.count
    scene.simulation.advance(by: .seconds(61))
    #expect(sent.dropFirst(before).first == Array(1...100))
    #expect(next.ledger.settled == Tally(.delivered, 250))
  }

  @Test("another key ends the pause at once")
  func otherKey() async {
    scene.keys.set("app", "vh_pk_wrong")
    store(1...30)
    scene.upstream.answers { $0.key == "vh_pk_right" ? .accepted($0) : .error(401, "unauthorized") }
    let life = await start()
    scene.simulation.advance(by: .seconds(5))
    scene.keys.set("app", "vh_pk_right")
    await scene.simulation.drive { await life.destination.keysChanged() }
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 30))
  }

  @Test("waits out the upstream's own faults as it is: nothing is halved, nothing steps aside")
  func waits() async {
    store(1...150)
    scene.upstream.answers { _ in .error(500, "down") }
    let life = await start()
    scene.simulation.advance(by: .seconds(7200))
    #expect(sent.allSatisfy { $0 == Array(1...100) })
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(31))
    #expect(sent.suffix(2) == [Array(1...100), Array(101...150)])
    #expect(life.ledger.settled == Tally(.delivered, 150))
  }

  @Test("counts what the upstream rejects without saying which, tells it once, and sends nothing again")
  func unnamed() async {
    store(1...200)
    scene.upstream.answers { _ in .status(202, #"{"unnamed":3}"#) }
    let life = await start()
    scene.simulation.advance(by: .seconds(60))
    #expect(sent == [Array(1...100), Array(101...200)])
    #expect(life.ledger.settled == Tally(.delivered, 200))
    #expect(
      scene.metrics.renderPrometheus().contains(
        #"event_relay_destination_rejected_unnamed_events_total{destination="upstream"} 6"#))
    #expect(scene.lines.value.filter { $0.contains("doesn't say which") }.count == 1)
  }

  @Test("a receipt of fewer events is believed where the protocol has no doubts")
  func noDoubts() async {
    store(1...20)
    scene.upstream.answers { _ in .status(202, #"{"accepted":1}"#) }
    let life = await start()
    scene.simulation.advance(by: .seconds(60))
    #expect(sent.count == 1)
    #expect(life.ledger.settled == Tally(.delivered, 20))
  }

  @Test("old events are sent: nothing is clamped there, whatever on_expired says")
  func old() async {
    store(1...20)
    var configuration = upstream
    configuration.onExpired = .deadLetter
    scene.simulation.jumpWallClock(by: .seconds(30 * 86_400))
    let life = await start(configuration)
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 20))
  }
}
