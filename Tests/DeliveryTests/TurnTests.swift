import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("A lane whose turn comes later than it was decided")
struct TurnTests {
  private let scene = Scene()

  @Test("doesn't send later events before those of a request that failed meanwhile")
  func staleTurn() async {
    var configuration = Scene.configuration()
    configuration.concurrency = 8
    // Answers bring the lane to more than one request at once; the last one is under way, and will fail.
    for number in 1...1000 { scene.store([number], app: "last", install: UInt64(number)) }
    for number in 1001...1100 { scene.store([number], app: "last", install: UInt64(number - 1000)) }
    scene.upstream.answers { $0.numbers.contains(1001) ? .held(503, "internal") : .accepted($0) }
    let life = await scene.start(configuration)
    #expect(life.ledger.settled[.delivered] == 1000)
    #expect(scene.upstream.inFlight == 1)
    // More lanes than may send at once come before the lane's next turn, for which the same installs have more.
    scene.upstream.answers { _ in .hold }
    for app in 0..<80 { scene.store([10_000 + app], app: "app-\(100 + app)") }
    for number in 1101...1300 { scene.store([number], app: "last", install: UInt64(number - 1100)) }
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.inFlight == UpstreamEngine.inFlightMax)
    let before = scene.upstream.sent.count
    scene.upstream.answers { .accepted($0) }
    scene.upstream.release()
    scene.simulation.settle()
    let last = scene.upstream.sent.dropFirst(before).filter { $0.numbers.contains { $0 < 10_000 } }
    #expect(last.isEmpty, "its delay holds")
    scene.simulation.advance(by: .seconds(60))
    let numbers = scene.upstream.sent.dropFirst(before).flatMap(\.numbers).filter { $0 < 10_000 }
    #expect(numbers == Array(1001...1300))
    #expect(life.ledger.isBalanced && life.status.pending.events == 0)
  }

  @Test("keeps to what the upstream asks of its key while it waits for the key's budget")
  func askedMeanwhile() async {
    scene.store(1...100, app: "android", install: 5)
    scene.store(101...200, app: "ios", install: 9)
    scene.upstream.next(.error(429, "rate_limited", retryAfter: "40"))
    let life = await scene.start(Scene.paced(100))
    scene.simulation.advance(by: .seconds(39))
    #expect(scene.upstream.sent.count == 1)
    scene.simulation.advance(by: .seconds(300))
    #expect(life.ledger.settled[.delivered] == 200)
  }

  @Test("burns nothing that was under way with a key that has been replaced, or taken away", arguments: [true, false])
  func refusedUnderOldKey(isReplaced: Bool) async {
    scene.keys.set("ios", "aso_wk_old")
    scene.store(1...100)
    scene.upstream.next(.held(401, "invalid_write_key"))
    let life = await scene.start()
    #expect(scene.upstream.inFlight == 1)
    scene.keys.set("ios", isReplaced ? "aso_wk_new" : nil)
    await scene.keysChanged(life)
    scene.simulation.settle()
    scene.upstream.release()
    scene.simulation.settle()
    #expect(scene.deadLetters.isEmpty)
    if !isReplaced {
      #expect(life.status.state == .held)
      scene.keys.set("ios", "aso_wk_new")
      await scene.keysChanged(life)
      scene.simulation.settle()
    }
    #expect(scene.upstream.sent.map(\.key) == ["aso_wk_old", "aso_wk_new"])
    #expect(life.ledger.settled == Tally(.delivered, 100))
    #expect(life.status.state == .running)
  }

  @Test("lets those go on that wait for a key with it when its own is taken away", arguments: [true, false])
  func keyTakenAway(isReplaced: Bool) async {
    for app in 0..<UpstreamEngine.inFlightMax { scene.keys.set("fill-\(app)", "aso_wk_fill") }
    scene.store(1...100, app: "android")
    let life = await scene.start(Scene.paced(100))
    // Both wait for the key's budget.
    scene.store(101...200, app: "android")
    scene.store(201...300, app: "ios")
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(30))
    // The first one's turn comes while no request may begin.
    scene.upstream.answers { _ in .hold }
    for app in 0..<UpstreamEngine.inFlightMax { scene.store([1000 + app], app: "fill-\(app)") }
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.inFlight == UpstreamEngine.inFlightMax)
    scene.simulation.advance(by: .seconds(40))
    scene.keys.set("android", isReplaced ? "aso_wk_new" : nil)
    await scene.keysChanged(life)
    scene.simulation.settle()
    scene.upstream.answers { .accepted($0) }
    scene.upstream.release()
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled[.delivered] == (isReplaced ? 364 : 264))
  }

  @Test("an install's limit holds over the hourly clearing up when its key has none")
  func hourly() async {
    let life = await scene.start(Scene.paced(0, 50))
    scene.simulation.advance(by: .seconds(3590))
    scene.store(1...50, install: 7)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(20))
    scene.store(51...100, install: 7)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(10))
    #expect(life.ledger.settled[.delivered] == 50)
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled[.delivered] == 100)
  }

  @Test("counts several requests that fail together as one failure, Retry-After or not")
  func failTogether() async {
    var configuration = Scene.configuration()
    configuration.concurrency = 8
    for number in 1...4800 { scene.store([number], install: UInt64(number)) }
    scene.upstream.answers {
      $0.numbers.contains { $0 > 4000 } ? .held(503, "internal", retryAfter: "7") : .accepted($0)
    }
    let life = await scene.start(configuration)
    #expect(life.ledger.settled[.delivered] == 4000)
    #expect(scene.upstream.inFlight > 3)
    scene.simulation.advance(by: .seconds(1))
    scene.upstream.answers { .accepted($0) }
    let before = scene.upstream.sent.count
    scene.upstream.release()
    scene.simulation.advance(by: .seconds(29))
    #expect(scene.upstream.sent.count == before)
    scene.simulation.advance(by: .seconds(2))
    #expect(life.ledger.settled[.delivered] == 4800)
  }
}
