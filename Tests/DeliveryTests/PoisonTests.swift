import Clocks
import EventLog
import Synchronization
import Testing

@testable import Delivery

@Suite("An event that makes the upstream fail")
struct PoisonTests {
  private let scene = Scene()

  private func poison(_ bad: Set<Int>) {
    scene.upstream.answers { sent in
      sent.numbers.contains(where: bad.contains) ? .status(500) : .accepted(sent)
    }
  }

  @Test("is found by halving, and given up while the others are delivered", arguments: [1, 50, 100, 137])
  func one(bad: Int) async {
    scene.store(1...200)
    poison([bad])
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(2 * 3600))
    // As long as others pass: here more and more come.
    var next = 201
    for _ in 0..<8 {
      scene.store(next..<next + 10)
      next += 10
      life.subscription.progress()
      scene.simulation.advance(by: .seconds(1200))
    }
    #expect(scene.deadLetterNumbers == [bad])
    #expect(scene.deadLetters.map(\.reason) == ["poison"])
    #expect(scene.deadLetters.first?.status == 500)
    let delivered = UInt64(next - 2)
    #expect(life.ledger.settled == Tally([.delivered: delivered, .poison: 1]))
  }

  @Test(
    "several side by side hold up nothing for good",
    arguments: [[1, 2], [1, 2, 3, 4, 5], [99, 100, 101], [7, 8, 120, 121]])
  func sideBySide(bad: [Int]) async {
    scene.store(1...200)
    poison(Set(bad))
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(86_400))
    #expect(life.ledger.settled[.delivered] == UInt64(200 - bad.count))
    for next in 201...240 {
      scene.store([next])
      life.subscription.progress()
      scene.simulation.advance(by: .seconds(1200))
    }
    #expect(scene.deadLetterNumbers.sorted() == bad)
    #expect(life.ledger.settled == Tally([.delivered: UInt64(240 - bad.count), .poison: UInt64(bad.count)]))
  }

  @Test("is not given up while nothing else passes, however long that takes")
  func alone() async {
    scene.store([1])
    poison([1])
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(86_400))
    #expect(life.ledger.settled == Tally())
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(600))
    #expect(life.ledger.settled == Tally([.delivered: 1]))
  }

  @Test("a day on which everything fails is an outage: nothing is given up, and one try comes at each step")
  func dayOfOutage() async {
    scene.store(1...1000)
    scene.upstream.answers { _ in .status(503) }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(86_400))
    #expect(life.ledger.settled == Tally())
    // 30 + 60 + 120 + 240 + 480 s, then one in ten minutes.
    let tries = 6 + (86_400 - 930) / 600
    #expect(scene.upstream.sent.count == tries)
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(600))
    #expect(life.ledger.settled == Tally([.delivered: 1000]))
    #expect(scene.deadLetters.isEmpty)
  }

  @Test("an outage of all costs a thousand apps one try each a step, and no more than one after it ends")
  func thousand() async {
    for app in 0..<1000 { scene.store([app, app + 1000], app: "app-\(app)") }
    scene.upstream.answers { _ in .noConnection }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(3600))
    let tries = 6 + (3600 - 930) / 600
    #expect(scene.upstream.sent.count == 1000 * tries)
    #expect(scene.upstream.inFlightMost <= UpstreamEngine.inFlightMax)
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(600))
    #expect(life.ledger.settled == Tally([.delivered: 2000]))
  }

  @Test("after an outage one request finds out, then more go at once, each install's events in order")
  func opensUp() async {
    for number in 1...3000 { scene.store([number], install: UInt64(number % 500)) }
    scene.upstream.answers { _ in .noConnection }
    var configuration = Scene.configuration()
    configuration.concurrency = 8
    let life = await scene.start(configuration)
    scene.simulation.advance(by: .seconds(3600))
    let before = scene.upstream.sent.count
    // A request ends when the test says so; by then all that may go beside it is under way.
    scene.upstream.answers { _ in .hold }
    scene.simulation.advance(atMost: .seconds(600)) { scene.upstream.inFlight > 0 }
    #expect(scene.upstream.inFlight == 1)
    for _ in 0..<1000 where life.status.pending.events > 0 {
      scene.upstream.release()
      scene.simulation.settle()
    }
    #expect(life.ledger.settled == Tally([.delivered: 3000]))
    #expect((3...8).contains(scene.upstream.inFlightMost))
    var last: [Int: Int] = [:]
    for number in scene.upstream.sent.dropFirst(before).flatMap(\.numbers) {
      #expect(last[number % 500, default: 0] < number)
      last[number % 500] = number
    }
  }
}
