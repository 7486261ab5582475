import EventLog
import Testing

@testable import Delivery

@Suite("Flushing and stopping the upstream's destination")
struct FlushTests {
  private let scene = Scene()

  private func flush(
    _ life: Scene.Life, within: Duration, meanwhile: () -> Void = {}
  ) async -> FlushResult {
    let deadline = scene.simulation.now + within
    return await scene.simulation.drive({ await life.destination.flush(until: deadline) }, meanwhile: meanwhile)
  }

  private func stop(_ life: Scene.Life, meanwhile: () -> Void = {}) async {
    let deadline = scene.simulation.now + .seconds(10)
    await scene.simulation.drive({ await life.destination.stop(until: deadline) }, meanwhile: meanwhile)
  }

  @Test("a flush skips lingering")
  func linger() async {
    let life = await scene.start(Scene.configuration(linger: .seconds(60)))
    scene.store(1...5)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.isEmpty)
    #expect(await flush(life, within: .seconds(2)) == FlushResult(flushed: 5, pending: 0))
    #expect(scene.upstream.sent.map(\.numbers) == [Array(1...5)])
    scene.store([6])
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.count == 1, "lingers again")
  }

  @Test("a flush skips no delay, and doesn't wait for one that outlasts it")
  func delay() async {
    scene.store(1...5)
    scene.upstream.next(.error(429, "rate_limited", retryAfter: "3"))
    let life = await scene.start()
    #expect(await flush(life, within: .seconds(2)) == FlushResult(flushed: 0, pending: 5))
    #expect(scene.upstream.sent.count == 1)
    let later = await flush(life, within: .seconds(4)) { scene.simulation.advance(by: .seconds(4)) }
    #expect(later == FlushResult(flushed: 5, pending: 0))
  }

  @Test("a flush ends at its deadline while the upstream is silent")
  func deadline() async {
    scene.store([1])
    scene.upstream.answers { _ in .hold }
    let life = await scene.start()
    let result = await flush(life, within: .seconds(2)) { scene.simulation.advance(by: .seconds(2)) }
    #expect(result == FlushResult(flushed: 0, pending: 1))
  }

  @Test(
    "a flush skips no pacing: what the key or an install may not send yet stays, and isn't waited for",
    arguments: [true, false])
  func pacing(isKeys: Bool) async {
    var configuration = isKeys ? Scene.paced(100) : Scene.paced(0, 100)
    configuration.linger = .seconds(600)
    let life = await scene.start(configuration)
    scene.store(1...250, install: 7)
    life.subscription.progress()
    scene.simulation.settle()
    let began = scene.simulation.now
    #expect(await flush(life, within: .seconds(2)) == FlushResult(flushed: 0, pending: 150))
    #expect(scene.simulation.now == began, "it waited for what couldn't come")
    #expect(scene.upstream.sent.map(\.numbers) == [Array(1...100)])
    let later = await flush(life, within: .seconds(64)) { scene.simulation.advance(by: .seconds(64)) }
    #expect(later == FlushResult(flushed: 100, pending: 50))
  }

  @Test("a flush skips no breaker: a refused key isn't asked sooner for it")
  func breaker() async {
    scene.store(1...500)
    scene.upstream.answers { _ in .error(401, "invalid_write_key") }
    let life = await scene.start()
    #expect(scene.upstream.sent.count == 3)
    #expect(await flush(life, within: .seconds(2)) == FlushResult(flushed: 0, pending: 200))
    #expect(scene.upstream.sent.count == 3)
  }

  @Test("a flush waits for lanes that can send, though others can't")
  func mixed() async {
    let life = await scene.start(Scene.configuration(linger: .seconds(60)))
    scene.keys.set("ios", "aso_wk_ios")
    scene.keys.set("android", "aso_wk_android")
    scene.upstream.answers { $0.key == "aso_wk_ios" ? .status(503) : .hold }
    scene.store([1], app: "ios")
    scene.store([2], app: "android")
    life.subscription.progress()
    scene.simulation.settle()
    let result = await flush(life, within: .seconds(2)) {
      scene.simulation.advance(by: .seconds(1))
      scene.upstream.release()
      scene.simulation.settle()
    }
    #expect(result == FlushResult(flushed: 1, pending: 1))
  }

  @Test("a stop ends at once when every lane waits for longer than it has time", arguments: [503, 429, 0])
  func stopWhileDown(status: Int) async {
    for app in 0..<70 { scene.store([app], app: "app\(app)") }
    scene.upstream.answers { _ in status == 0 ? .noConnection : .status(status) }
    let life = await scene.start()
    scene.store(100..<120, app: "late")
    life.subscription.progress()
    let began = scene.simulation.now
    await stop(life) {
      scene.simulation.settle()
    }
    #expect(scene.simulation.now == began)
    #expect(life.status.state == .stopped)
    // (A 429 is for the key, which all of them share.)
    let tries = scene.upstream.sent.count
    #expect(status == 429 ? tries <= 71 : tries == 71, "\(tries) tries")
    #expect(scene.log.disk.settled.isEmpty)
    // All of it is there after the next start.
    let next = await scene.start()
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(60))
    #expect(next.ledger.settled == Tally([.delivered: 90]))
  }

  @Test("a stop tries again whose delay ends in time, and then waits no longer")
  func stopWithShortDelay() async {
    scene.store([1])
    scene.upstream.next(.error(429, "rate_limited", retryAfter: "4"), .status(503))
    let life = await scene.start()
    let began = scene.simulation.now
    await stop(life) { scene.simulation.advance(by: .seconds(4)) }
    #expect(scene.upstream.sent.count == 2)
    #expect(scene.simulation.now - began == .seconds(4))
    #expect(life.status.state == .stopped)
  }

  @Test("a flush of nothing answers at once")
  func nothing() async {
    let life = await scene.start()
    #expect(await flush(life, within: .seconds(2)) == FlushResult(flushed: 0, pending: 0))
  }

  @Test("a stop sends what lingers, and commits it")
  func stop() async {
    let life = await scene.start(Scene.configuration(linger: .seconds(60)))
    scene.store(1...5)
    life.subscription.progress()
    scene.simulation.settle()
    await stop(life)
    #expect(scene.log.disk.settled == [1, 2, 3, 4, 5])
    #expect(life.status.state == .stopped)
    scene.store([6])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(100))
    #expect(scene.upstream.sent.count == 1)
  }

  @Test("a stop lets what is in flight finish, and no longer than its deadline")
  func stopInFlight() async {
    scene.store(1...150)
    scene.upstream.answers { _ in .hold }
    let life = await scene.start()
    await stop(life) {
      scene.simulation.advance(by: .seconds(5))
      scene.upstream.release()
      scene.simulation.settle()
      #expect(life.ledger.settled == Tally([.delivered: 100]))
      scene.simulation.advance(by: .seconds(5))
    }
    #expect(scene.log.disk.settled.count == 100)
    #expect(life.status.state == .stopped)
    // The answer that comes after the end changes nothing.
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([.delivered: 100]))
  }

  @Test("a stop during a delay is quick, and remembers it")
  func stopInDelay() async {
    scene.store([1])
    scene.upstream.answers { _ in .status(503) }
    let life = await scene.start()
    await stop(life)
    #expect(scene.log.disk.attachment?["lanes"]?.array?.first?["wait_ms"]?.integer() == 30_000)
  }
}
