import Clocks
import EventLog
import Synchronization
import Testing

@testable import Delivery

@Suite("Pacing through the engine")
struct PacingTests {
  private let scene = Scene()

  @Test("a lone install that is refused again and again is sent less at once, and all of it gets there")
  func loneInstall() async {
    scene.store(1...40)
    scene.upstream.answers { $0.numbers.count > 5 ? .error(429, "rate_limited", retryAfter: "1") : .accepted($0) }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(3600))
    #expect(life.ledger.settled == Tally([.delivered: 40]))
    #expect(scene.upstream.sent.filter { $0.numbers.count <= 5 }.flatMap(\.numbers) == Array(1...40))
  }
}
