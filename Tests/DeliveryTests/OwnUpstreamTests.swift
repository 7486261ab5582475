import Clocks
import EventLog
import Synchronization
import Testing

@testable import Delivery

@Suite("Apps with upstreams of their own")
struct OwnUpstreamTests {
  private let scene = Scene()

  private static let three = ["web": OtherDialect.apart.configuration(), "app": OtherDialect.ordered.configuration()]

  private func delivered(_ host: String, of sent: ArraySlice<FakeUpstream.Sent>) -> [Int] {
    sent.filter { $0.url.hasPrefix("http://\(host).test/") }.flatMap(\.numbers)
  }

  @Test("three protocols, each one's upstream failing in turn: no lane is slowed by another, and the books are right")
  func three() async {
    let hosts = ["upstream", "apart", "ordered"]
    let life = await scene.start(byApp: Self.three)
    var begin = 1
    for (round, down) in hosts.enumerated() {
      scene.simulation.advance(by: .seconds(120))
      let replies: [FakeUpstream.Reply] = [.noConnection, .error(503, "down"), .error(429, "no", retryAfter: "20")]
      scene.upstream.answers { $0.url.hasPrefix("http://\(down).test/") ? replies[round] : .accepted($0) }
      let before = scene.upstream.sent.count
      let numbers = begin...begin + 19
      scene.storeThree(numbers)
      begin += 20
      life.subscription.progress()
      scene.simulation.settle()
      let sent = scene.upstream.sent[before...]
      for host in hosts where host != down {
        #expect(delivered(host, of: sent) == Array(numbers), "\(host), \(down) being down")
      }
      scene.simulation.advance(by: .seconds(5))
      let waiting = life.status.lanes.filter { $0.pending > 0 }
      #expect(waiting.count == 1 && waiting[0].pending == 20 && waiting[0].state == .waiting)
      scene.upstream.answers { .accepted($0) }
    }
    scene.simulation.advance(by: .seconds(120))
    #expect(life.ledger.settled == Tally(.delivered, 180))
    #expect(life.ledger.isBalanced)
    // An outage is told for each upstream, and its end.
    #expect(scene.lines.value.filter { $0.contains("can't be reached") }.count == 2)
    #expect(scene.lines.value.filter { $0.contains("answers again") }.count == 2)
  }

  @Test("however many lanes hang at one upstream, another's has its turn at once")
  func hanging() async {
    for app in 0..<200 { scene.store([1], app: "hang-\(app)") }
    scene.upstream.answers { $0.url.hasPrefix("http://upstream.test/") ? .hold : .accepted($0) }
    let life = await scene.start(byApp: Self.three)
    scene.simulation.settle()
    #expect(scene.upstream.inFlight < UpstreamEngine.inFlightMax)
    scene.store(1...20, app: "app", dialect: 102)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(scene.upstream.sent.last?.url == "http://ordered.test/in")
    #expect(life.status.lanes.allSatisfy { $0.app != "app" })
  }

  @Test("two apps with one key share its limits and waits only where the upstream is the same")
  func keys() async {
    var one = OtherDialect.ordered.configuration("http://one.test")
    one.rateLimit = RateLimit(events: 100, eventsPerInstall: 0, margin: 0)
    var two = one
    two = OtherDialect.ordered.configuration("http://two.test")
    two.rateLimit = one.rateLimit
    for app in ["a", "b", "c"] { scene.store(1...80, app: app, dialect: 102) }
    let life = await scene.start(byApp: ["a": one, "b": one, "c": two])
    scene.simulation.advance(by: .seconds(30))
    let sent = scene.upstream.sent[...]
    #expect(delivered("one", of: sent).count == 100)
    #expect(delivered("two", of: sent).count == 80)
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally(.delivered, 240))
    // A wait that one upstream asks for is none of the other's.
    scene.upstream.answers {
      $0.url.hasPrefix("http://one.test/") ? .error(429, "no", retryAfter: "50") : .accepted($0)
    }
    scene.store(81...100, app: "a", dialect: 102)
    life.subscription.progress()
    scene.simulation.settle()
    let before = scene.upstream.sent.count
    for app in ["b", "c"] { scene.store(81...100, app: app, dialect: 102) }
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(40))
    #expect(scene.upstream.sent[before...].map(\.url) == ["http://two.test/in"])
  }

  @Test("a key's use at an upstream of its own is on record, and counts after a crash")
  func keyOnRecord() async {
    var one = OtherDialect.ordered.configuration("http://one.test")
    one.rateLimit = RateLimit(events: 100, eventsPerInstall: 0, margin: 0)
    scene.store(1...300, app: "a", dialect: 102)
    let first = await scene.start(byApp: ["a": one])
    scene.simulation.advance(by: .seconds(1))
    await scene.simulation.drive { await first.destination.engine.die() }
    let before = scene.upstream.sent.count
    _ = await scene.start(byApp: ["a": one])
    scene.simulation.advance(by: .seconds(50))
    #expect(scene.upstream.sent.count == before)
    scene.simulation.advance(by: .seconds(15))
    #expect(scene.upstream.sent.count > before)
  }

  @Test("an app that gets limits of its own at the same upstream keeps to them, and what it sent before counts on")
  func ownLimits() async {
    func limited(_ events: Int) -> UpstreamConfiguration {
      var configuration = Scene.configuration()
      configuration.rateLimit = RateLimit(events: events, eventsPerInstall: 0, margin: 0)
      return configuration
    }
    let usual = limited(1000)
    let life = await scene.start(usual)
    scene.store(1...300)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 300))
    let own = Upstreams(usual: usual, byApp: ["ios": limited(400)])
    await scene.simulation.drive { await life.destination.reconfigure(own) }
    scene.store(301...600)
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(59))
    #expect(life.ledger.settled == Tally(.delivered, 400))
    await scene.simulation.drive { await life.destination.reconfigure(usual) }
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 600))
  }
}
