import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("A key that is refused")
struct RefusedKeyTests {
  private let scene = Scene()

  private func refuseAll(_ status: Int = 401, _ code: String = "invalid_write_key") {
    scene.upstream.answers { _ in .error(status, code) }
  }

  @Test("three batches go to the dead letters, the rest waits; one batch a minute asks, and is put back")
  func holds() async {
    scene.store(1...1000)
    refuseAll()
    let life = await scene.start()
    #expect(scene.deadLetterNumbers.sorted() == Array(1...300))
    #expect(life.status.state == .refused)
    #expect(life.status.detail?.hasPrefix("Key refused") == true)
    #expect(life.status.pending.events == 700)
    #expect(life.status.stuckSince == nil)
    scene.simulation.advance(by: .seconds(86_400))
    #expect(life.ledger.settled == Tally([.refused: 300]))
    #expect(scene.upstream.sent.count == 3 + 1440)
    #expect(scene.upstream.sent.dropFirst(3).allSatisfy { $0.numbers == Array(301...400) })
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally([.refused: 300, .delivered: 700]))
    #expect(life.status.state == .running)
  }

  @Test("a new key closes the breaker at once, and what waits goes with it; the same key read again doesn't")
  func newKey() async {
    scene.keys.set("ios", "aso_wk_old")
    scene.store(1...500)
    scene.upstream.answers { $0.key == "aso_wk_old" ? .error(401, "invalid_write_key") : .accepted($0) }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(5))
    await scene.keysChanged(life)
    scene.simulation.settle()
    #expect(scene.upstream.sent.count == 3)
    scene.keys.set("ios", "aso_wk_new")
    await scene.keysChanged(life)
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([.refused: 300, .delivered: 200]))
    #expect(scene.upstream.sent.dropFirst(3).allSatisfy { $0.key == "aso_wk_new" })
    #expect(life.status.state == .running)
  }

  @Test("the breaker stays open over a restart, and a restart with another key closes it", arguments: [true, false])
  func restart(hasNewKey: Bool) async {
    scene.keys.set("ios", "aso_wk_old")
    scene.store(1...500)
    scene.upstream.answers { $0.key == "aso_wk_old" ? .error(401, "invalid_write_key") : .accepted($0) }
    let first = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    await scene.simulation.drive { await first.destination.engine.die() }
    if hasNewKey { scene.keys.set("ios", "aso_wk_new") }
    let second = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    #expect(second.ledger.settled[.delivered] == (hasNewKey ? 200 : 0))
    scene.simulation.advance(by: .seconds(300))
    #expect(second.ledger.settled[.refused] == 300, "no batch more is burnt")
  }

  @Test("a used up quota is asked about every hour and when the month begins")
  func quota() async {
    scene.store(1...500)
    refuseAll(403, "quota_exceeded")
    let life = await scene.start()
    #expect(life.status.detail?.hasPrefix("Quota used up") == true)
    let untilMonth = RefusalBreaker.nextMonth(after: scene.simulation.wallClock.now) - scene.simulation.wallClock.now
    scene.simulation.advance(by: untilMonth - .seconds(1))
    #expect(scene.upstream.sent.count == 3 + Int((untilMonth.seconds - 1) / 3600))
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(1))
    #expect(life.ledger.settled == Tally([.refused: 300, .delivered: 200]))
  }

  @Test("with dead_letter all of it goes to the dead letters")
  func burns() async {
    scene.store(1...1000)
    refuseAll()
    var configuration = Scene.configuration()
    configuration.onRefusedKey = .deadLetter
    let life = await scene.start(configuration)
    #expect(life.ledger.settled == Tally([.refused: 1000]))
  }

  @Test("refusals that aren't in a row hold nothing")
  func notInARow() async {
    scene.store(1...1000)
    scene.upstream.answers { $0.number % 3 == 0 ? .accepted($0) : .error(401, "invalid_write_key") }
    let life = await scene.start()
    #expect(life.status.pending.events == 0)
    #expect(life.ledger.settled == Tally([.refused: 700, .delivered: 300]))
  }

  @Test("a portal's 403 is an outage and burns nothing")
  func portal() async {
    scene.store(1...1000)
    scene.upstream.answers { _ in .status(403, "<html>no</html>") }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled == Tally())
    #expect(life.status.state == .foreign)
  }

  @Test("what grows older than 7 days while it is held is sent, or given up as expired", arguments: [true, false])
  func expired(isDeadLettering: Bool) async {
    scene.store(1...350)
    refuseAll()
    var configuration = Scene.configuration()
    configuration.onExpired = isDeadLettering ? .deadLetter : .send
    let life = await scene.start(configuration)
    scene.simulation.advance(by: .seconds(8 * 86_400))
    scene.store(351...360)
    life.subscription.progress()
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(61))
    let settled = life.ledger.settled
    #expect(settled[.refused] == 300)
    #expect(settled[.expired] == (isDeadLettering ? 50 : 0))
    #expect(settled[.delivered] == (isDeadLettering ? 10 : 60))
    let expired = scene.deadLetters.count { $0.reason == "expired" }
    #expect(expired == (isDeadLettering ? 50 : 0))
  }

  private func deadLettering() -> UpstreamConfiguration {
    var configuration = Scene.configuration()
    configuration.onExpired = .deadLetter
    return configuration
  }

  @Test("what grows older than 7 days in a lane without a key is given up, though nothing is ever sent")
  func expiresWithoutKey() async {
    scene.keys.set("ios", nil)
    scene.store(1...2500)
    let life = await scene.start(deadLettering())
    scene.simulation.advance(by: .seconds(4 * 86_400))
    scene.store(2501...2510)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(3 * 86_400 + 1200))
    #expect(scene.upstream.sent.isEmpty)
    #expect(life.ledger.settled == Tally(.expired, 2500))
    #expect(life.status.lanes.map(\.state) == [.held])
    scene.keys.set("ios", "aso_wk_new")
    await scene.keysChanged(life)
    scene.simulation.settle()
    #expect(scene.upstream.sent.flatMap(\.numbers) == Array(2501...2510))
    #expect(life.ledger.settled == Tally([.expired: 2500, .delivered: 10]))
  }

  @Test("so is what waits behind an open breaker or an outage, whoever is first in its lane", arguments: [true, false])
  func expiresBehind(isRefused: Bool) async {
    scene.upstream.answers { _ in isRefused ? .error(403, "quota_exceeded") : .noConnection }
    scene.store(1...300)
    let life = await scene.start(deadLettering())
    let lost = isRefused ? 300 : 0
    // One that is younger stands before the old ones: each probe meets it first.
    scene.simulation.advance(by: .seconds(6 * 86_400))
    scene.store([301])
    scene.store(302...400, occurredAt: scene.simulation.wallClock.now - .seconds(6 * 86_400))
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(86_400 + 1200))
    #expect(life.status.pending.events == 1)
    #expect(life.ledger.settled[.expired] == UInt64(399 - lost))
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled[.delivered] == 1)
    #expect(life.ledger.isBalanced)
  }

  @Test("nothing is given up when that can't be put on record, and all of it is later")
  func expiryNeedsItsLetters() async {
    scene.keys.set("ios", nil)
    scene.store(1...10)
    let life = await scene.start(deadLettering())
    scene.simulation.advance(by: .seconds(7 * 86_400 - 60))
    scene.log.failCommits("no room")
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled == Tally())
    scene.log.failCommits(nil)
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled == Tally(.expired, 10))
    #expect(scene.deadLetterNumbers == Array(1...10))
  }

  @Test("a reload that wants old events given up does so at once")
  func expiresByReload() async {
    scene.keys.set("ios", nil)
    scene.store(1...10)
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(8 * 86_400))
    #expect(life.ledger.settled == Tally())
    await scene.reconfigure(life, deadLettering())
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.expired, 10))
  }
}
