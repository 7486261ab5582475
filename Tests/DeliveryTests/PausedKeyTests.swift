import Clocks
import EventLog
import TestSupport
import Testing

@testable import Delivery

@Suite("A refused key whose protocol pauses it")
struct PausedKeyTests {
  private let scene = Scene()
  private static let ordered = OtherDialect.ordered.configuration()
  private static let refusal = FakeUpstream.Reply.error(401, "unauthorized")

  private var moments: [ContinuousClock.Instant] { scene.upstream.sent.map(\.at) }

  private func checkSpacing(_ moments: some Sequence<ContinuousClock.Instant>) {
    let moments = Array(moments)
    for (one, next) in zip(moments, moments.dropFirst()) {
      #expect(next - one >= .seconds(60), "two requests within \(next - one)")
    }
  }

  private func start(_ apps: String...) async -> Scene.Life {
    await scene.start(byApp: Dictionary(uniqueKeysWithValues: apps.map { ($0, Self.ordered) }))
  }

  private func store(_ numbers: some Sequence<Int>, _ app: String) { scene.store(numbers, app: app, dialect: 102) }

  @Test(
    "an app's new events, those sent again and another app of the same key: one request a minute for all, over a restart too"
  )
  func together() async throws {
    var log = try scene.openLog()
    var subscription = try log.subscribe("upstream", origin: .oldest)
    let upstreams = ["one": Self.ordered, "two": Self.ordered]
    var life = await scene.start(over: subscription, byApp: upstreams)
    scene.upstream.answers { _ in Self.refusal }
    await scene.store(0..<30, app: "one", installs: 1, dialect: 102, in: log)
    await scene.simulation.settle { !scene.upstream.sent.isEmpty }
    await scene.store(100..<130, app: "two", installs: 1, dialect: 102, in: log)
    try scene.replay(200..<230, app: "one", dialect: 102, in: log)
    await scene.simulation.settle {
      life.status.lanes.allSatisfy { $0.state == .refused } && life.status.lanes.count == 3
    }
    scene.simulation.advance(by: .seconds(3600))
    #expect(moments.count == 61)
    checkSpacing(moments)
    #expect(life.status.lanes.allSatisfy { $0.detail?.hasPrefix("Key refused (401 no: why)") == true })
    #expect(life.status.stuckSince == nil && life.status.state == .refused)
    #expect(life.status.retryAt.map { $0 - scene.simulation.wallClock.now } == .seconds(60))

    await scene.simulation.drive { [life] in await life.engine.die() }
    log.close()
    log = try scene.openLog()
    subscription = try log.subscribe("upstream", origin: .oldest)
    life = await scene.start(over: subscription, byApp: upstreams)
    scene.simulation.advance(by: .seconds(600))
    #expect(moments.count == 71)
    checkSpacing(moments)

    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(60))
    #expect(subscription.pending.events == 0)
    #expect(scene.upstream.sent.suffix(3).reduce(0) { $0 + $1.numbers.count } == 90)
    #expect(life.status.state == .running && scene.deadLetters.isEmpty)
    log.close()
  }

  @Test("whatever becomes of the request that asks, the next comes a minute after it", arguments: [true, false])
  func unclear(isAnswered: Bool) async {
    for app in ["one", "two", "three"] { store(1...30, app) }
    scene.upstream.answers { $0.number == 1 ? Self.refusal : isAnswered ? .error(503, "down") : .noConnection }
    let life = await start("one", "two", "three")
    scene.simulation.advance(by: .seconds(1800))
    // All three were sent before the first was answered.
    checkSpacing(moments.dropFirst(2))
    #expect((29...33).contains(moments.count))
    #expect(life.ledger.settled == Tally())
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(400))
    #expect(life.ledger.settled == Tally(.delivered, 90))
  }

  @Test("nobody asks while a request that asks has no answer, however long its timeout is")
  func hanging() async {
    var configuration = Self.ordered
    configuration.timeout = .seconds(600)
    for app in ["one", "two"] { store(1...30, app) }
    scene.upstream.answers { $0.number <= 2 ? Self.refusal : .hold }
    let life = await scene.start(byApp: ["one": configuration, "two": configuration])
    scene.simulation.advance(by: .seconds(2000))
    #expect(moments.count == 3)
    #expect(scene.upstream.inFlight == 1)
    scene.upstream.answers { .accepted($0) }
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 60))
  }

  @Test("a stale refusal, of what was sent before, doesn't lengthen the pause, nor does a stale success end it")
  func stale() async {
    for app in ["one", "two", "three"] { store(1...30, app) }
    scene.upstream.answers { _ in Self.refusal }
    scene.upstream.next(Self.refusal, .heldAnswer(.init(status: 401)), .hold)
    let life = await start("one", "two", "three")
    scene.simulation.advance(by: .seconds(10))
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 30))
    scene.simulation.advance(by: .milliseconds(49_999))
    #expect(moments.count == 3)
    scene.simulation.advance(by: .milliseconds(1))
    #expect(moments.count == 4)
  }

  @Test("another key of one app is sent with at once, and the other app goes on waiting", arguments: [true, false])
  func newKey(overRestart: Bool) async {
    for app in ["one", "two"] {
      scene.keys.set(app, "vh_pk_old")
      store(1...30, app)
    }
    scene.upstream.answers { $0.key == "vh_pk_old" ? Self.refusal : .accepted($0) }
    var life = await start("one", "two")
    scene.simulation.advance(by: .seconds(5))
    scene.keys.set("one", "vh_pk_new")
    if overRestart {
      await scene.simulation.drive { [life] in await life.destination.engine.die() }
      life = await start("one", "two")
    } else {
      await scene.keysChanged(life)
    }
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 30))
    #expect(life.status.lanes.map(\.app) == ["two"] && life.status.lanes.first?.state == .refused)
    #expect(scene.upstream.sent.count { $0.key == "vh_pk_old" } == 2)
    scene.simulation.advance(by: .seconds(55))
    #expect(scene.upstream.sent.count { $0.key == "vh_pk_old" } == 3)
  }

  @Test("a pause that an older program had on record with its lane holds for the key")
  func olderRecord() async {
    for app in ["one", "two"] { store(1...30, app) }
    scene.upstream.answers { _ in Self.refusal }
    let first = await start("one")
    scene.simulation.advance(by: .seconds(1))
    await scene.simulation.drive { await first.destination.engine.die() }
    let id = try? UpstreamRecord(scene.log.disk.attachment).pauses.first?.key
    scene.log.state.withLock { state in
      var record = (try? UpstreamRecord(state.disk.attachment)) ?? UpstreamRecord()
      record.pauses = []
      record.lanes = [
        UpstreamRecord.LaneRecord(
          app: "one", retryAt: scene.simulation.wallClock.now + .seconds(59), wait: .seconds(60), failures: 0,
          attempts: 1, state: .refused, detail: "Key refused", refusals: 3, refused: .key, refusedKey: id)
      ]
      state.disk.attachment = record.json
    }
    let before = moments.count
    let life = await start("one", "two")
    scene.simulation.advance(by: .milliseconds(58_999))
    #expect(moments.count == before)
    #expect(life.status.lanes.allSatisfy { $0.state == .refused })
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(1))
    #expect(life.ledger.settled == Tally(.delivered, 60))
  }

  @Test("with dead_letter nothing is held, and the other app's pause ends with the first that is taken")
  func burning() async {
    var burning = Self.ordered
    burning.onRefusedKey = .deadLetter
    store(1...30, "one")
    scene.upstream.answers { _ in Self.refusal }
    let life = await scene.start(byApp: ["one": Self.ordered, "two": burning])
    store(1...40, "two")
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    #expect(life.ledger.settled == Tally(.refused, 40))
    scene.upstream.answers { .accepted($0) }
    store(41...60, "two")
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(1))
    #expect(life.ledger.settled == Tally([.refused: 40, .delivered: 50]))
  }

  @Test(
    "apps come, go, change keys and restarts happen at random: never two requests of a refused key within a minute, and in the end all is sent",
    arguments: 1...12 as ClosedRange<UInt64>)
  func atRandom(seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    let apps = (0..<6).map { "app-\($0)" }
    let upstreams = Dictionary(uniqueKeysWithValues: apps.map { ($0, Self.ordered) })
    for app in apps { scene.keys.set(app, "vh_pk_old") }
    // Before anything waits, one request finds out that the key is refused.
    store(1...20, apps[0])
    scene.upstream.answers { $0.key == "vh_pk_old" ? .error($0.number % 5 == 2 ? 503 : 401, "no") : .accepted($0) }
    var life = await scene.start(byApp: upstreams)
    scene.simulation.advance(by: .seconds(1))
    var numbers = 20
    for _ in 0..<120 {
      let app = apps[Int.random(in: 0..<6, using: &random)]
      switch Int.random(in: 0..<8, using: &random) {
      case 0: scene.keys.set(app, nil)
      case 1, 2: scene.keys.set(app, "vh_pk_old")
      case 3:
        await scene.simulation.drive { [life] in await life.destination.engine.die() }
        life = await scene.start(byApp: upstreams)
      case 4: scene.keys.set(app, "vh_pk_new")
      case 5:
        await scene.simulation.drive { [life] in
          _ = await life.destination.reconfigure(Upstreams(usual: Scene.configuration(), byApp: upstreams))
        }
      default:
        store(numbers + 1...numbers + 25, app)
        numbers += 25
        life.subscription.progress()
      }
      await scene.keysChanged(life)
      scene.simulation.advance(by: .seconds(Int.random(in: 0..<45, using: &random)))
    }
    let asked = scene.upstream.sent.filter { $0.key == "vh_pk_old" }.map(\.at)
    checkSpacing(asked)
    #expect(asked.count > 10)
    for app in apps { scene.keys.set(app, "vh_pk_old") }
    await scene.keysChanged(life)
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(400))
    #expect(life.status.pending.events == 0)
    #expect(life.ledger.isBalanced && life.ledger.settled == Tally(.delivered, numbers))
    #expect(life.status.state == .running)
  }
}
