import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("Which lane sends first")
struct OrderTests {
  private let scene = Scene()
  private static let apps = (0..<100).map { "app-\(100 + $0)" }

  /// The later an app comes in the log's order of apps, the older its event.
  private func storeReversed(_ events: Int) {
    for (age, app) in Self.apps.reversed().enumerated() {
      scene.store(age * events..<(age + 1) * events, app: app)
      scene.simulation.advance(by: .seconds(1))
    }
  }

  private func configuration(_ order: UpstreamConfiguration.Order, limit: Int = 0) -> UpstreamConfiguration {
    var configuration = Scene.paced(limit)
    configuration.order = order
    return configuration
  }

  @Test("is the one that could first, or with oldest_first the one with the oldest event")
  func queue() async {
    storeReversed(1)
    // More lanes than may send at once: what they send shows whose turn it was.
    let ages = Array(0..<100)
    _ = await scene.start(configuration(.oldestFirst))
    #expect(scene.upstream.sent.flatMap(\.numbers) == ages)
  }

  @Test("is the one that could first without that")
  func arrival() async {
    storeReversed(1)
    _ = await scene.start(configuration(.arrival))
    #expect(scene.upstream.sent.flatMap(\.numbers) == Array(0..<100).reversed())
  }

  @Test("a key's budget goes to the lane with the oldest event too", arguments: UpstreamConfiguration.Order.allCases)
  func budget(order: UpstreamConfiguration.Order) async {
    storeReversed(10)
    let life = await scene.start(configuration(order, limit: 100))
    let oldest = Set(0..<100)
    #expect(scene.upstream.sent.flatMap(\.numbers).count == 100)
    #expect((Set(scene.upstream.sent.flatMap(\.numbers)) == oldest) == (order == .oldestFirst))
    // One that comes to wait with an older event goes before those that wait already.
    scene.store([5000], app: "old", receivedAt: scene.simulation.wallClock.now - .seconds(3600))
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(62))
    let second = scene.upstream.sent.flatMap(\.numbers).dropFirst(100)
    #expect(second.count >= 91)
    #expect((second.first == 5000) == (order == .oldestFirst))
    scene.simulation.advance(by: .seconds(20 * 60))
    #expect(life.ledger.settled == Tally(.delivered, 1001))
  }

  @Test("is decided anew when a reload changes the order")
  func reload() async {
    storeReversed(10)
    let life = await scene.start(configuration(.arrival, limit: 100))
    #expect(scene.upstream.sent.flatMap(\.numbers).first == 990)
    await scene.reconfigure(life, configuration(.oldestFirst, limit: 100))
    scene.simulation.advance(by: .seconds(62))
    #expect(scene.upstream.sent.flatMap(\.numbers).dropFirst(100).prefix(100) == Array(0..<100)[...])
  }
}
