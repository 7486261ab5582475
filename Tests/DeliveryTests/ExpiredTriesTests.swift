import Clocks
import EventLog
import Foundation
import Records
import Synchronization
import Testing

@testable import Delivery

@Suite("Events that grow too old after they were sent, or by another protocol's rules")
struct ExpiredTriesTests {
  private let scene = Scene()
  private static let week: Duration = .seconds(7 * 86_400)

  private func deadLettering() -> UpstreamConfiguration {
    var configuration = Scene.configuration()
    configuration.onExpired = .deadLetter
    return configuration
  }

  /// Stores an event that is 7 days old after so long.
  private func store(
    _ number: Int, expiresAfter left: Duration, app: String = "ios", install: UInt64 = 7, dialect: UInt8 = 0
  ) {
    scene.store(
      [number], app: app, install: install, occurredAt: scene.simulation.wallClock.now - Self.week + left,
      dialect: dialect)
  }

  private var attempts: [Int] { scene.deadLetters.map(\.attempts) }

  @Test("what was sent and grew too old before its next try says how often it was")
  func sentBefore() async {
    store(1, expiresAfter: .seconds(80))
    scene.upstream.answers { _ in .noConnection }
    let life = await scene.start(deadLettering())
    scene.simulation.advance(by: .seconds(100))
    #expect(scene.upstream.sent.count == 2)
    #expect(life.ledger.settled == Tally(.expired, 1))
    #expect(attempts == [2])
  }

  @Test("and says so too when the disk took no dead letter at first")
  func fullDisk() async {
    let fault = Mutex<Int32>(0)
    store(1, expiresAfter: .seconds(80))
    scene.upstream.answers { _ in .noConnection }
    let system = FileSystem { operation, _ in operation == .write ? fault.withLock { $0 } : 0 }
    let life = await scene.start(deadLettering(), system: system)
    fault.withLock { $0 = ENOSPC }
    scene.simulation.advance(by: .seconds(100))
    #expect(life.ledger.settled == Tally())
    fault.withLock { $0 = 0 }
    scene.simulation.advance(by: .seconds(1200))
    #expect(scene.upstream.sent.count == 2)
    #expect(life.ledger.settled == Tally(.expired, 1))
    #expect(attempts == [2])
  }

  @Test("what was refused for its install's limit, and waits for that, says so too")
  func limitedInstall() async {
    store(1, expiresAfter: .seconds(45))
    scene.upstream.answers { _ in .error(429, "rate_limited", retryAfter: "60") }
    let life = await scene.start(deadLettering())
    scene.simulation.advance(by: .seconds(1300))
    #expect(scene.upstream.sent.map(\.numbers) == [[1]])
    #expect(life.ledger.settled == Tally(.expired, 1))
    #expect(attempts == [1])
  }

  @Test("in a lane that waits long, each says how often it was sent")
  func longWait() async {
    store(1, expiresAfter: .seconds(100))
    scene.store([2])
    store(3, expiresAfter: .seconds(200))
    var configuration = deadLettering()
    configuration.maxBatchEvents = 2
    scene.upstream.answers { _ in .error(429, "rate_limited", retryAfter: "3600") }
    let life = await scene.start(configuration)
    scene.simulation.advance(by: .seconds(1300))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2]])
    #expect(life.ledger.settled == Tally(.expired, 2))
    #expect(scene.deadLetterNumbers == [1, 3])
    #expect(attempts == [1, 0])
  }

  @Test("what came by a protocol without such a rule is not given up when its app is removed")
  func removedApp() async {
    store(1, expiresAfter: .seconds(-86_400), app: "web", dialect: 101)
    scene.upstream.answers { _ in .noConnection }
    let life = await scene.start(deadLettering(), byApp: ["web": OtherDialect.apart.configuration()])
    let upstreams = Upstreams(usual: deadLettering())
    let keys = scene.keys
    await scene.simulation.drive { await life.destination.reconfigure(upstreams) { keys.set("web", nil) } }
    scene.simulation.advance(by: .seconds(2000))
    #expect(life.ledger.settled == Tally())
    #expect(life.status.lanes.map(\.state) == [.held])
    #expect(scene.deadLetters.isEmpty)
  }

  @Test("nor when its app speaks another protocol now")
  func otherProtocol() async {
    store(1, expiresAfter: .seconds(-86_400), app: "web", dialect: 101)
    let life = await scene.start(deadLettering())
    scene.simulation.advance(by: .seconds(2000))
    #expect(scene.upstream.sent.isEmpty)
    #expect(life.ledger.settled == Tally())
    #expect(life.status.lanes.map(\.state) == [.held])
    #expect(scene.deadLetters.isEmpty)
  }

  @Test("what was accepted for another upstream isn't given up by this one's rule, whether its app has a key or not")
  func otherUpstream() async {
    store(1, expiresAfter: .seconds(-86_400), app: "web")
    scene.upstream.answers { _ in .noConnection }
    let life = await scene.start(
      deadLettering(), byApp: ["web": Scene.configuration(url: "http://other.test")])
    let upstreams = Upstreams(usual: deadLettering())
    let keys = scene.keys
    await scene.simulation.drive { await life.destination.reconfigure(upstreams) { keys.set("web", nil) } }
    scene.simulation.advance(by: .seconds(2000))
    #expect(life.ledger.settled == Tally())
    #expect(scene.deadLetters.isEmpty)
  }
}
