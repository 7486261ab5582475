import Clocks
import EventLog
import Glibc
import JSON
import Records
import Synchronization
import TestSupport
import Testing

@testable import Delivery

@Suite("The upstream's destination after a restart")
struct RestartTests {
  private let scene = Scene()

  @Test("goes on waiting for what is left of a delay, and goes on doubling")
  func wait() async {
    scene.store(1...3)
    scene.upstream.answers { _ in .noConnection }
    _ = await scene.start()
    scene.simulation.advance(by: .seconds(40))
    #expect(scene.upstream.sent.count == 2)
    // The process dies; it comes back 20 s later, 30 s into a wait of 60.
    scene.simulation.jumpWallClock(by: .seconds(20))
    let life = await scene.start()
    #expect(life.status.state == .waiting)
    #expect(life.status.detail?.contains("connection refused") == true)
    #expect(life.status.retryAt == scene.simulation.wallClock.now + .seconds(30))
    // The dead process's timers run on in the simulation: count from here.
    let before = scene.upstream.sent.count
    scene.simulation.advance(by: .milliseconds(29_999))
    #expect(scene.upstream.sent.count == before)
    scene.simulation.advance(by: .milliseconds(1))
    #expect(scene.upstream.sent.count == before + 1)
    #expect(life.status.retryAt == scene.simulation.wallClock.now + .seconds(120))
  }

  @Test("waits no longer than the whole delay when the clock was set back")
  func clockSetBack() async {
    scene.store([1])
    scene.upstream.next(.error(429, "rate_limited", retryAfter: "100"))
    _ = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    scene.simulation.jumpWallClock(by: .seconds(-86_400))
    let life = await scene.start()
    #expect(life.status.retryAt == scene.simulation.wallClock.now + .seconds(100))
  }

  @Test("sends at once what isn't delayed, without lingering anew")
  func noBurst() async {
    scene.store([1], app: "slow")
    scene.store([2], app: "fast")
    scene.upstream.next(.noConnection, .hold)
    scene.upstream.answers { $0.numbers == [1] ? .noConnection : .hold }
    _ = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    let life = await scene.start()
    #expect(life.status.lanes.map(\.app).sorted() == ["fast", "slow"])
    #expect(scene.log.disk.attachment?["lanes"]?.array?.count == 1)
  }

  @Test("cuts back dead letters whose events were not on record as settled, and writes each once")
  func deadLettersExactlyOnce() async throws {
    scene.store(1...3)
    scene.upstream.answers { .error(401, "invalid_write_key", "\($0.numbers)") }
    let first = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.deadLetterNumbers == [1, 2, 3])
    // The next dead letters reach the disk, their commit doesn't: the crash comes between.
    scene.log.failCommits("the power went")
    scene.store(4...5)
    first.subscription.progress()
    scene.simulation.settle()
    #expect(scene.deadLetterNumbers == [1, 2, 3, 4, 5])
    #expect(scene.log.disk.settled == [1, 2, 3])
    await die(first)
    scene.log.failCommits(nil)
    let second = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.deadLetterNumbers == [1, 2, 3, 4, 5])
    #expect(scene.deadLetters.map(\.message).last == "[4, 5]")
    #expect(second.ledger.settled == Tally([.refused: 5]))
    #expect(scene.lines.value.contains { $0.contains("cut off dead letters") })
  }

  @Test("cuts back even the very first dead letter")
  func firstDeadLetter() async throws {
    scene.store([1])
    let isDead = Mutex(false)
    scene.upstream.answers { [log = scene.log] _ in
      // The file's first mark is committed; what comes after that isn't.
      if isDead.withLock({ $0 }) { log.failCommits("the power went") }
      return .error(401, "invalid_write_key")
    }
    let first = await scene.start()
    scene.simulation.settle()
    #expect(scene.deadLetterNumbers == [1])
    #expect(scene.log.disk.attachment?["dead_letters"]?["length"]?.integer() == 0)
    #expect(scene.log.disk.settled.isEmpty)
    await die(first)
    _ = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.deadLetterNumbers == [1])
    #expect(scene.log.disk.settled == [1])
  }

  private func die(_ life: Scene.Life) async {
    await scene.simulation.drive { await life.destination.engine.die() }
  }

  @Test("sends nothing to another upstream than the events were accepted for, and says what to do")
  func otherUpstream() async {
    scene.store(1...3)
    scene.upstream.answers { _ in .noConnection }
    let first = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    await die(first)
    let before = scene.upstream.sent.count
    scene.upstream.answers { .accepted($0) }
    let held = await scene.start(Scene.configuration(url: "http://other.test"))
    scene.store([4])
    held.subscription.progress()
    scene.simulation.advance(by: .seconds(3600))
    #expect(held.status.state == .held)
    #expect(held.status.detail?.contains("3 events wait that were accepted for http://upstream.test") == true)
    #expect(held.status.detail?.contains("--adopt") == true)
    #expect(held.status.stuckSince == nil)
    #expect(scene.upstream.sent.count == before)
    #expect(scene.log.disk.attachment?["url"]?.string == "http://upstream.test")
    await die(held)

    let adopted = await scene.start(Scene.configuration(url: "http://other.test", adopt: true))
    scene.simulation.advance(by: .seconds(1))
    #expect(adopted.ledger.settled == Tally([.delivered: 4]))
    #expect(scene.upstream.sent.last?.url == "http://other.test/v1/events")
    #expect(scene.log.disk.attachment?["url"]?.string == "http://other.test")
  }

  @Test("goes to another upstream without a word when nothing waits")
  func otherUpstreamWithoutBacklog() async {
    let first = await scene.start()
    #expect(scene.log.disk.attachment?["url"]?.string == "http://upstream.test")
    await die(first)
    let life = await scene.start(Scene.configuration(url: "http://other.test/v1"))
    #expect(life.status.state == .running)
    #expect(scene.log.disk.attachment?["url"]?.string == "http://other.test")
  }

  @Test("keeps neither user nor password of the upstream's URL on record or in a sentence")
  func secretsInURL() {
    let record = UpstreamRecord(url: "https://a.test").json
    let opening = UpstreamOpening(
      attachment: record, pendingEvents: 2, relay: "test-relay",
      configuration: UpstreamConfiguration(url: "https://me:secret@b.test/x"))
    #expect(opening.hold?.contains("https://b.test/x") == true)
    #expect(opening.hold?.contains("secret") == false)
    let fresh = UpstreamOpening(
      attachment: nil, pendingEvents: 0, relay: "test-relay",
      configuration: UpstreamConfiguration(url: "https://me:secret@b.test/x"))
    #expect(fresh.record.url == "https://b.test/x")
  }

  @Test("holds what another instance accepted, until it is told to adopt it")
  func otherInstance() {
    let configuration = UpstreamConfiguration(url: "https://a.test")
    let adopting = UpstreamConfiguration(url: "https://a.test", adoptsWaitingEvents: true)
    let record = UpstreamRecord(url: "https://a.test", relay: "one").json
    func opening(_ waiting: Int, _ configuration: UpstreamConfiguration) -> UpstreamOpening {
      UpstreamOpening(attachment: record, pendingEvents: waiting, relay: "two", configuration: configuration)
    }
    let held = opening(3, configuration)
    #expect(held.hold?.contains("3 events wait that relay one accepted") == true)
    #expect(!held.mustCommit)
    for free in [opening(0, configuration), opening(3, adopting)] {
      #expect(free.hold == nil)
      #expect(free.record.relay == "two")
      #expect(free.mustCommit)
    }
    let same = UpstreamOpening(attachment: record, pendingEvents: 3, relay: "one", configuration: configuration)
    #expect(same.hold == nil && !same.mustCommit)
  }

  @Test("refuses a record of a newer program, with both versions named")
  func newerRecord() async {
    scene.store([1])
    scene.log.state.withLock { $0.disk.attachment = ["version": 3] }
    let life = await scene.start()
    #expect(life.status.state == .held)
    #expect(life.status.detail?.contains("version 3") == true)
    #expect(life.status.detail?.contains("knows 2") == true)
    #expect(scene.upstream.sent.isEmpty)
  }

  @Test("tries again when its record can't be written at the start, and sends nothing before")
  func recordFails() async {
    scene.store([1])
    scene.log.failCommits("no space left on device")
    let life = await scene.start()
    #expect(life.status.state == .failing)
    #expect(scene.upstream.sent.isEmpty)
    scene.log.failCommits(nil)
    scene.simulation.advance(by: .seconds(5))
    #expect(life.ledger.settled == Tally([.delivered: 1]))
    #expect(life.status.state == .running)
  }
}
