import Clocks
import EventLog
import Glibc
import HTTPClient
import Records
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite("Lanes of the upstream's destination")
struct LaneTests {
  private let scene = Scene()

  private func engine(_ life: Scene.Life) -> UpstreamEngine { life.destination.engine }

  @Test("one blocked app of a thousand delays none of the others")
  func thousand() async {
    for app in 0..<1000 {
      scene.keys.set("app-\(app)", "aso_wk_\(app)")
      scene.store([app], app: "app-\(app)")
    }
    scene.upstream.answers { $0.numbers == [500] ? .error(429, "rate_limited", retryAfter: "60") : .accepted($0) }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    #expect(life.ledger.settled == Tally([.delivered: 999]))
    #expect(life.status.lanes.map(\.app) == ["app-500"])
    #expect(life.status.lanes.first?.retryAt == life.status.retryAt)
    #expect(scene.upstream.inFlightMost <= UpstreamEngine.inFlightMax)
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally([.delivered: 1000]))
  }

  @Test("no more than 64 requests are under way, one for each app, and the others follow in turn")
  func limit() async {
    for app in 0..<200 { scene.store(0..<150, app: "app-\(app)") }
    scene.upstream.answers { _ in .hold }
    let life = await scene.start()
    #expect(scene.upstream.inFlight == 64)
    scene.upstream.release()
    scene.simulation.settle()
    #expect(scene.upstream.inFlight == 64)
    #expect(scene.upstream.sent.count == 128)
    #expect(Set(scene.upstream.sent.map { $0.numbers.count }) == [100], "each app's first batch before any second one")
    scene.upstream.answers { .accepted($0) }
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([.delivered: 30_000]))
  }

  @Test("apps whose requests hang, each with as many as it may have, leave room for the others")
  func hanging() async {
    for app in 0..<8 {
      scene.keys.set("hangs-\(app)", "aso_wk_hangs")
      for number in 0..<600 { scene.store([app * 1000 + number], app: "hangs-\(app)", install: UInt64(number)) }
    }
    var configuration = Scene.configuration()
    configuration.maxBatchEvents = 10
    configuration.concurrency = 8
    scene.upstream.answers { sent in
      sent.key == "aso_wk_hangs" && sent.numbers.contains { $0 % 1000 >= 400 } ? .hold : .accepted(sent)
    }
    let life = await scene.start(configuration)
    #expect(life.ledger.settled == Tally(.delivered, 3200))
    #expect((UpstreamEngine.inFlightMax / 2...UpstreamEngine.inFlightMax * 3 / 4).contains(scene.upstream.inFlight))
    for app in 0..<20 { scene.store(10_000 + app * 100..<10_100 + app * 100, app: "app-\(app)") }
    life.subscription.progress()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 5200))
    scene.upstream.answers { .accepted($0) }
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 6800))
  }

  @Test("what waits holds no batch and no body; what is done is forgotten")
  func memory() async {
    for app in 0..<100 { scene.store(1...100, app: "app-\(app)") }
    scene.upstream.answers { _ in .noConnection }
    let life = await scene.start()
    let engine = engine(life)
    await onEngine(engine) { engine in
      #expect(engine.pool.inUse == 0)
      #expect(engine.lanes.count == 100)
      #expect(engine.inFlight == 0 && engine.outlets.allSatisfy { $0.inFlight == 0 && $0.inFlightBytes == 0 })
    }
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(31))
    await onEngine(engine) { engine in
      #expect(engine.pool.inUse == 0)
      #expect(engine.lanes.isEmpty)
      #expect(engine.board.snapshot.lanes.isEmpty)
    }
    #expect(scene.log.disk.attachment?["lanes"]?.array?.isEmpty == true)
  }

  private func onEngine(
    _ engine: UpstreamEngine, _ body: @escaping @Sendable (isolated UpstreamEngine) -> Void
  ) async {
    await scene.simulation.drive { await body(engine) }
  }

  @Test("lanes that come and go leave nothing behind, however long they would have lingered")
  func manyLives() async {
    let life = await scene.start(Scene.configuration(linger: .seconds(3600)))
    for turn in 0..<2000 {
      scene.store(turn * 100..<turn * 100 + 50)
      life.subscription.progress()
      scene.simulation.settle()
      scene.store(turn * 100 + 50..<turn * 100 + 100)
      life.subscription.progress()
      scene.simulation.settle()
    }
    #expect(life.ledger.settled == Tally([.delivered: 200_000]))
    await onEngine(engine(life)) { engine in
      #expect(engine.lanes.isEmpty)
      #expect(engine.timers.count <= UpstreamEngine.timersMaxAtFirst)
    }
    scene.store([1])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled == Tally([.delivered: 200_001]))
  }

  @Test("a part-filled batch lingers; a full one goes at once")
  func linger() async {
    let life = await scene.start(Scene.configuration(linger: .seconds(1)))
    scene.store(1...5)
    life.subscription.progress()
    scene.simulation.advance(by: .milliseconds(600))
    scene.store(6...7)
    life.subscription.progress()
    scene.simulation.advance(by: .milliseconds(399))
    #expect(scene.upstream.sent.isEmpty)
    #expect(life.status.state == .running)
    scene.simulation.advance(by: .milliseconds(1))
    #expect(scene.upstream.sent.map(\.numbers) == [Array(1...7)], "a second after the oldest came")
    scene.store(8...110)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.last?.numbers == Array(8...107))
    scene.simulation.advance(by: .milliseconds(999))
    #expect(scene.upstream.sent.count == 2)
    scene.simulation.advance(by: .milliseconds(1))
    #expect(scene.upstream.sent.last?.numbers == Array(108...110))
  }

  @Test("a batch that is full by its bytes goes at once, and never over the limit")
  func fullByBytes() async {
    let life = await scene.start(Scene.configuration(linger: .seconds(1), maxBatchBytes: 500))
    for number in 1...4 {
      scene.store([number])
      life.subscription.progress()
      scene.simulation.settle()
    }
    #expect(scene.upstream.sent.isEmpty)
    scene.store(5...9)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.map(\.numbers) == [Array(1...7)])
    #expect(scene.upstream.sent.allSatisfy { $0.body.count <= 500 })
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.map(\.numbers) == [Array(1...7), Array(8...9)])
  }

  @Test("an app without a key is held, and goes on when it has one")
  func removedApp() async {
    scene.keys.set("gone", nil)
    scene.store([1], app: "gone")
    scene.store([2], app: "ios")
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(3600))
    #expect(scene.upstream.sent.map(\.numbers) == [[2]])
    #expect(life.status.state == .held)
    #expect(life.status.detail?.contains("gone") == true)
    #expect(life.status.lanes.map(\.state) == [.held])
    #expect(life.status.pending.events == 1)
    #expect(life.status.stuckSince == nil)
    scene.keys.set("gone", "aso_wk_back")
    await scene.keysChanged(life)
    #expect(scene.upstream.sent.last?.key == "aso_wk_back")
    #expect(life.ledger.settled == Tally([.delivered: 2]))
    #expect(life.status.state == .running)
  }

  @Test("the key in force when events are sent is used")
  func rotation() async {
    scene.keys.set("ios", "aso_wk_old")
    scene.store([1])
    scene.upstream.next(.status(503))
    _ = await scene.start()
    scene.keys.set("ios", "aso_wk_new")
    scene.simulation.advance(by: .seconds(30))
    #expect(scene.upstream.sent.map(\.key) == ["aso_wk_old", "aso_wk_new"])
  }

  @Test("an unreadable log is a state, and read again")
  func unreadable() async {
    scene.store([1])
    scene.log.failReads("segment 3 can't be read: input/output error")
    let life = await scene.start()
    #expect(life.status.state == .failing)
    #expect(life.status.detail == "segment 3 can't be read: input/output error")
    scene.log.failReads(nil)
    scene.simulation.advance(by: .seconds(5))
    #expect(life.ledger.settled == Tally([.delivered: 1]))
    #expect(life.status.state == .running)
  }

  @Test("positions that can't be written are a state; delivery goes on")
  func commitFails() async {
    let life = await scene.start()
    scene.log.failCommits("no space left on device")
    scene.store([1])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    #expect(life.status.state == .failing)
    #expect(life.ledger.settled == Tally([.delivered: 1]))
    scene.log.failCommits(nil)
    scene.simulation.advance(by: .seconds(5))
    #expect(life.status.state == .running)
    #expect(scene.log.disk.settled == [1])
  }

  @Test("dead letters that can't be written leave their events waiting, and only those")
  func deadLettersFail() async {
    let isFull = Mutex(true)
    let system = FileSystem { operation, _ in operation == .write && isFull.withLock { $0 } ? ENOSPC : 0 }
    scene.store(1...5)
    scene.upstream.answers { sent in
      guard let at = sent.numbers.firstIndex(of: 3) else { return .accepted(sent) }
      return .status(
        200,
        #"{"accepted":\#(sent.numbers.count - 1),"rejected":[{"index":\#(at),"code":"c","message":"m"}],"clamped":[]}"#)
    }
    let life = await scene.start(system: system)
    #expect(life.status.state == .failing)
    #expect(life.status.detail?.contains("free space") == true)
    #expect(life.ledger.settled == Tally([.delivered: 4]))
    #expect(scene.deadLetters.isEmpty)
    isFull.withLock { $0 = false }
    scene.simulation.advance(by: .seconds(30))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2, 3, 4, 5], [3]])
    #expect(scene.deadLetterNumbers == [3])
    #expect(life.ledger.settled == Tally([.delivered: 4, .rejected: 1]))
    #expect(life.status.state == .running)
  }

  @Test("commits are few while events are being delivered")
  func commits() async {
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(10))
    let before = scene.log.disk.commits
    for number in 0..<100 {
      scene.store([number])
      life.subscription.progress()
      scene.simulation.advance(by: .milliseconds(10))
    }
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.log.disk.commits - before <= 21)
    #expect(scene.log.disk.settled.count == 100)
  }

  @Test("a request that never ends is seen as stuck; a delay is not")
  func stuck() async {
    scene.store([1])
    scene.upstream.next(.status(503), .hold)
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(29))
    #expect(life.status.stuckSince == nil)
    scene.simulation.advance(by: .seconds(1))
    let began = scene.simulation.now
    scene.simulation.advance(by: .seconds(49))
    #expect(life.status.stuckSince == nil)
    scene.simulation.advance(by: .seconds(2))
    #expect(life.status.stuckSince == began + .seconds(40))
  }

  @Test("each answer is counted by what it was")
  func metrics() async {
    scene.store(1...2)
    scene.upstream.next(
      .noConnection, .status(500), .error(429, "rate_limited", retryAfter: "1"), .status(302),
      .error(413, "payload_too_large"), .error(401, "invalid_write_key"))
    _ = await scene.start()
    scene.simulation.advance(by: .seconds(1000))
    let text = scene.metrics.renderPrometheus()
    for outcome in ["network", "server_error", "rate_limited", "foreign", "too_large", "refused", "delivered"] {
      #expect(
        text.contains(
          #"event_relay_destination_attempts_total{destination="upstream",outcome="\#(outcome)"} 1"#), "\(outcome)")
    }
    #expect(text.contains(#"event_relay_destination_request_seconds_count{destination="upstream"} 7"#))
  }
}
