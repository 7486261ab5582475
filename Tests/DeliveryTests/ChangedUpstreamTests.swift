import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("Apps whose upstream or protocol changes")
struct ChangedUpstreamTests {
  private let scene = Scene()

  private static let three = ["web": OtherDialect.apart.configuration(), "app": OtherDialect.ordered.configuration()]

  private func delivered(_ host: String) -> [Int] {
    scene.upstream.sent.filter { $0.url.hasPrefix("http://\(host).test/") }.flatMap(\.numbers)
  }

  @Test("an app whose upstream has changed under waiting events is held alone, until it is adopted or set back")
  func changed() async {
    scene.upstream.answers { _ in .noConnection }
    let first = await scene.start(byApp: Self.three)
    scene.storeThree(1...20)
    first.subscription.progress()
    scene.simulation.advance(by: .seconds(3))
    await scene.simulation.drive { await first.destination.engine.die() }
    scene.upstream.answers { .accepted($0) }
    var changed = Self.three
    changed["app"] = OtherDialect.ordered.configuration("http://elsewhere.test")
    let life = await scene.start(byApp: changed)
    scene.simulation.advance(by: .seconds(120))
    #expect(life.ledger.settled == Tally(.delivered, 40))
    let lane = life.status.lanes.first { $0.app == "app" }
    #expect(lane?.state == .held && lane?.pending == 20)
    #expect(
      lane?.detail
        == "20 events wait of app app that were accepted for http://ordered.test: start once with `event-relay run "
        + "--adopt` to send them to http://elsewhere.test, or set the app's upstream.url back")
    #expect(life.status.stuckSince == nil)

    // What comes meanwhile waits too; a reload that sets it back lets it go.
    scene.store(21...25, app: "app", dialect: 102)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(30))
    await scene.simulation.drive {
      await life.destination.reconfigure(Upstreams(usual: Scene.configuration(), byApp: Self.three))
    }
    scene.simulation.advance(by: .seconds(30))
    #expect(life.ledger.settled == Tally(.delivered, 65))
    #expect(scene.upstream.sent.allSatisfy { !$0.url.contains("elsewhere") })
  }

  @Test("--adopt sends what waits to the app's other upstream, and that is on record")
  func adopt() async {
    scene.upstream.answers { _ in .noConnection }
    let first = await scene.start(byApp: Self.three)
    scene.store(1...20, app: "app", dialect: 102)
    first.subscription.progress()
    scene.simulation.advance(by: .seconds(3))
    await scene.simulation.drive { await first.destination.engine.die() }
    scene.upstream.answers { .accepted($0) }
    let elsewhere = ["app": OtherDialect.ordered.configuration("http://elsewhere.test")]
    let life = await scene.start(Scene.configuration(adopt: true), byApp: elsewhere)
    // The last upstream's wait is none of this one's.
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 20))
    #expect(scene.upstream.sent.last?.url == "http://elsewhere.test/in")
    let apps = scene.log.disk.attachment?["apps"]
    #expect(apps?["app"]?["ordered"]?.string == "http://elsewhere.test")
    #expect(apps?["web"] == nil, "it has none of its own any more, and nothing waits")
  }

  @Test("the usual upstream that has changed under waiting events holds its own lanes, and no others")
  func usualChanged() async {
    scene.upstream.answers { _ in .noConnection }
    let first = await scene.start(byApp: Self.three)
    scene.storeThree(1...20)
    first.subscription.progress()
    scene.simulation.advance(by: .seconds(3))
    await scene.simulation.drive { await first.destination.engine.die() }
    scene.upstream.answers { .accepted($0) }
    let life = await scene.start(Scene.configuration(url: "http://other.test"), byApp: Self.three)
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally(.delivered, 40))
    #expect(life.status.state == .held)
    #expect(life.status.detail?.contains("20 events wait that were accepted for http://upstream.test") == true)
    #expect(scene.log.disk.attachment?["url"]?.string == "http://upstream.test")
  }

  @Test("events of another protocol than the app speaks now are never sent, adopted or not, until it speaks that again")
  func otherProtocol() async {
    scene.upstream.answers { _ in .noConnection }
    let first = await scene.start()
    scene.store(1...5, app: "x")
    first.subscription.progress()
    scene.simulation.advance(by: .seconds(3))
    await scene.simulation.drive { await first.destination.engine.die() }
    scene.upstream.answers { .accepted($0) }
    let ordered = ["x": OtherDialect.ordered.configuration()]
    let life = await scene.start(Scene.configuration(adopt: true), byApp: ordered)
    scene.store(6...25, app: "x", dialect: 102)
    life.subscription.progress()
    let before = scene.upstream.sent.count
    scene.simulation.advance(by: .seconds(3600))
    #expect(scene.upstream.sent.count == before)
    #expect(life.status.lanes.map(\.state) == [.held])
    #expect(life.status.lanes.first?.detail?.contains("app-store-operator can't go to an upstream of") == true)
    #expect(life.status.stuckSince == nil)

    // It speaks the first one again: those go, and the others are held. And then the other way round.
    await scene.simulation.drive { await life.destination.reconfigure(Upstreams(usual: Scene.configuration())) }
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent.dropFirst(before).map(\.numbers) == [Array(1...5)])
    #expect(life.status.lanes.map(\.state) == [.held])
    await scene.simulation.drive {
      await life.destination.reconfigure(Upstreams(usual: Scene.configuration(), byApp: ordered))
    }
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent.last?.url == "http://ordered.test/in")
    #expect(life.ledger.settled == Tally(.delivered, 25))
  }

  @Test("a batch ends where the app began to speak another protocol, and nothing of it is lost or sent twice")
  func mixed() async {
    scene.store(1...3, app: "x", dialect: 102)
    scene.store(4...6, app: "x")
    scene.store(7...9, app: "x", dialect: 102)
    let ordered = ["x": OtherDialect.ordered.configuration()]
    let life = await scene.start(byApp: ordered)
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2, 3]])
    for upstreams in [Upstreams(usual: Scene.configuration()), Upstreams(usual: Scene.configuration(), byApp: ordered)]
    {
      await scene.simulation.drive { await life.destination.reconfigure(upstreams) }
      scene.simulation.advance(by: .seconds(60))
    }
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    #expect(life.ledger.settled == Tally(.delivered, 9))
  }

  @Test("a reload gives an app its key and its upstream at once: no key goes to another upstream than its own")
  func together() async {
    scene.keys.set("x", "vh_pk_old")
    scene.store(1...20, app: "x", dialect: 102)
    let before = ["x": OtherDialect.ordered.configuration("http://old.test")]
    let life = await scene.start(byApp: before)
    scene.simulation.settle()
    let after = Upstreams(
      usual: Scene.configuration(), byApp: ["x": OtherDialect.ordered.configuration("http://new.test")])
    await scene.simulation.drive { [scene] in
      await life.destination.reconfigure(after) {
        scene.keys.set("x", "vh_pk_new")
        // It comes between, with the new key.
        scene.store(21...40, app: "x", dialect: 102)
      }
    }
    life.subscription.progress()
    scene.simulation.settle()
    #expect(
      scene.upstream.sent.map { "\($0.key) \($0.url)" } == [
        "vh_pk_old http://old.test/in", "vh_pk_new http://new.test/in",
      ])
    #expect(scene.log.disk.attachment?["apps"]?["x"]?["ordered"]?.string == "http://new.test")
  }

  @Test(
    "what is under way when an app's upstream changes ends as it began, and a reload lets go what is held for nothing")
  func underWay() async {
    let old = ["x": OtherDialect.ordered.configuration("http://old.test")]
    let new = Upstreams(
      usual: Scene.configuration(), byApp: ["x": OtherDialect.ordered.configuration("http://new.test")])
    scene.upstream.next(.hold)
    scene.store(1...20, app: "x", dialect: 102)
    let life = await scene.start(byApp: old)
    await scene.simulation.drive { await life.destination.reconfigure(new) }
    #expect(life.status.lanes.map(\.state) == [.held])
    scene.upstream.release()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 20) && life.status.state == .held)
    scene.store(21...40, app: "x", dialect: 102)
    await scene.simulation.drive { await life.destination.reconfigure(new) }
    scene.simulation.settle()
    #expect(life.status.state == .held, "those were accepted while it was held")
    await scene.simulation.drive {
      await life.destination.reconfigure(Upstreams(usual: Scene.configuration(), byApp: old))
    }
    scene.simulation.settle()
    await scene.simulation.drive { await life.destination.reconfigure(new) }
    #expect(life.status.state == .running)
    scene.store(41...60, app: "x", dialect: 102)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.map(\.url) == ["http://old.test/in", "http://old.test/in", "http://new.test/in"])
    #expect(scene.upstream.sent.flatMap(\.numbers) == Array(1...60))
  }

  @Test("a lane that waits for its key's limit at one upstream waits no more at another, whose limit is its own")
  func movesWhileItWaits() async {
    var limited = OtherDialect.ordered.configuration("http://old.test")
    limited.rateLimit = RateLimit(events: 100, eventsPerInstall: 0, margin: 0)
    scene.store(1...300, app: "x", dialect: 102)
    let life = await scene.start(byApp: ["x": limited])
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.count == 1 && life.status.lanes.map(\.state) == [.paced])
    var other = OtherDialect.ordered.configuration("http://new.test")
    other.rateLimit = RateLimit(events: 150, eventsPerInstall: 0, margin: 0)
    let adopting = Upstreams(usual: Scene.configuration(adopt: true), byApp: ["x": other])
    await scene.simulation.drive { await life.destination.reconfigure(adopting) }
    scene.simulation.advance(by: .seconds(2))
    #expect(delivered("new").count == 150)
    // A higher limit of its own holds at once.
    other.rateLimit = RateLimit(events: 190, eventsPerInstall: 0, margin: 0)
    let higher = Upstreams(usual: Scene.configuration(adopt: true), byApp: ["x": other])
    await scene.simulation.drive { await life.destination.reconfigure(higher) }
    scene.simulation.advance(by: .seconds(2))
    #expect(delivered("new").count == 190)
    scene.simulation.advance(by: .seconds(120))
    #expect(life.ledger.settled == Tally(.delivered, 300))
  }

  @Test("an app that comes with a reload, and one that gets the usual upstream, go where they should")
  func comeAndGo() async {
    let life = await scene.start()
    let own = Upstreams(usual: Scene.configuration(), byApp: ["x": Scene.configuration(url: "http://own.test")])
    await scene.simulation.drive { await life.destination.reconfigure(own) }
    scene.store([1], app: "x")
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.log.disk.attachment?["version"]?.integer() == 2)
    await scene.simulation.drive { await life.destination.reconfigure(Upstreams(usual: Scene.configuration())) }
    scene.store([2], app: "x")
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.map(\.url) == ["http://own.test/v1/events", "http://upstream.test/v1/events"])
    #expect(scene.log.disk.attachment?["version"]?.integer() == 1, "an older program can read that again")
  }
}
