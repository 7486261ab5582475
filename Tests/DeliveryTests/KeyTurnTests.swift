import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("Lanes that wait for one key")
struct KeyTurnTests {
  private let scene = Scene()

  private func paced(_ events: Int) -> UpstreamConfiguration {
    var configuration = Scene.configuration()
    configuration.rateLimit = RateLimit(events: events, eventsPerInstall: 0, margin: 0)
    return configuration
  }

  @Test("are not taken for stuck however many come before them, and tell when the key goes on")
  func longQueue() async {
    for app in 0..<8 { scene.store(app * 100..<(app + 1) * 100, app: "app-\(app)") }
    let life = await scene.start(paced(100))
    #expect(scene.upstream.sent.count == 1)
    for second in 0..<480 {
      let status = life.status
      #expect(status.stuckSince == nil, "after \(second) s")
      for lane in status.lanes where lane.state == .paced {
        let now = scene.simulation.wallClock.now
        #expect(lane.retryAt.map { $0 >= now && $0 <= now + .seconds(61) } == true, "\(lane.app) after \(second) s")
      }
      scene.simulation.advance(by: .seconds(1))
    }
    #expect(life.ledger.settled == Tally(.delivered, 800))
  }

  @Test("are stuck when the moment of their key has gone by and nothing was done")
  func stuck() {
    let board = DeliveryBoard()
    let now = ContinuousClock.now
    board.set(.app("ios"), DeliveryBoard.Entry(state: .paced, explanation: .turn, key: "k"))
    board.setPace("k", DeliveryBoard.Pace(explanation: .until(now + .seconds(60)), retryAt: Timestamp(milliseconds: 7)))
    #expect(board.snapshot.lanes[.app("ios")].flatMap { board.snapshot.retryAt($0) } == Timestamp(milliseconds: 7))
    func since(_ moment: ContinuousClock.Instant) -> ContinuousClock.Instant? {
      board.stuckSince(waiting: 1, now: moment, patience: .seconds(10), longest: .seconds(40))
    }
    #expect(since(now + .seconds(70)) == nil)
    #expect(since(now + .seconds(71)) == now + .seconds(60))
    board.setPace("k", nil)
    #expect(since(now + .seconds(71)) == nil)
  }

  @Test("let a flush end at once when the key can send nothing before its deadline, however long they have waited")
  func flush() async {
    for app in 0..<4 { scene.store(app * 100..<(app + 1) * 100, app: "app-\(app)") }
    let life = await scene.start(paced(100))
    scene.simulation.advance(by: .seconds(130))
    #expect(scene.upstream.sent.count == 3)
    let began = scene.simulation.now
    let (pending, ended) = await scene.simulation.drive { [simulation = scene.simulation] in
      await withTaskExecutorPreference(simulation) {
        let result = await life.destination.flush(until: began + .seconds(10))
        return (result.pending, simulation.now)
      }
    } meanwhile: {
      scene.simulation.advance(by: .seconds(20))
    }
    #expect(pending == 100 && ended == began)
  }

  @Test("send what there is room for after a second when the rest must wait for an answer")
  func answerOutstanding() async {
    scene.store(1...60, app: "slow")
    scene.upstream.next(.hold)
    let life = await scene.start(paced(100))
    scene.store(61...160, app: "other")
    life.subscription.progress()
    scene.simulation.advance(by: .milliseconds(900))
    #expect(scene.upstream.sent.map(\.numbers.count) == [60])
    #expect(life.status.stuckSince == nil)
    scene.simulation.advance(by: .milliseconds(200))
    #expect(scene.upstream.sent.map(\.numbers.count) == [60, 40])
    let lane = life.status.lanes.first { $0.app == "other" }
    #expect(lane?.state == .paced && lane?.retryAt != nil)
    scene.upstream.release()
    scene.simulation.advance(by: .seconds(62))
    #expect(life.ledger.settled == Tally(.delivered, 160))
  }

  @Test("wait no longer than a second with room unused when the rest is short in coming after it")
  func twoSeconds() async {
    scene.store(1...10)
    let life = await scene.start(paced(100))
    scene.simulation.advance(by: .milliseconds(1700))
    scene.store(11...100)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    scene.store(101...200)
    life.subscription.progress()
    let start = scene.upstream.sent.first?.at ?? scene.simulation.now
    scene.simulation.advance(by: .seconds(65))
    #expect(scene.upstream.sent.map(\.numbers.count) == [10, 90, 10, 90])
    let after = (scene.upstream.sent.dropFirst(2).first?.at ?? start) - start
    #expect(after <= .milliseconds(61_250), "\(after)")
  }

  @Test("that get another key are told of no more as waiting for the old one")
  func otherKey() async {
    scene.store(1...200, app: "first")
    scene.store(201...300, app: "second")
    let life = await scene.start(paced(100))
    #expect(life.status.lanes.allSatisfy { $0.state == .paced })
    scene.keys.set("first", "aso_wk_other")
    scene.keys.set("second", "aso_wk_other")
    scene.upstream.answers { _ in .hold }
    await scene.simulation.drive { await life.destination.keysChanged() }
    scene.simulation.settle()
    #expect(life.destination.engine.board.snapshot.paces.count == 1)
    #expect(scene.upstream.sent.last?.key == "aso_wk_other")
  }

  @Test("send a part of a batch when there has been room for a second and more is long in coming")
  func partBatch() async {
    scene.store(1...10)
    let life = await scene.start(paced(100))
    scene.simulation.advance(by: .seconds(10))
    scene.store(11...100)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    scene.store(101...200)
    life.subscription.progress()
    let start = scene.upstream.sent.first?.at ?? scene.simulation.now
    scene.simulation.advance(by: .seconds(100))
    #expect(scene.upstream.sent.map(\.numbers.count) == [10, 90, 10, 90])
    let after = (scene.upstream.sent.dropFirst(2).first?.at ?? start) - start
    // (The room comes a 240th of the minute late.)
    #expect(after >= .seconds(60) && after <= .milliseconds(61_250), "\(after)")
  }
}
