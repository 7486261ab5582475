import Testing

@testable import Delivery

@Suite("How long a lane takes for what waits")
struct DrainEstimateTests {
  private let limit = RateLimit(events: 6000, eventsPerInstall: 300, margin: 0)

  private func seconds(
    pending: Int, rate: Double? = nil, parked: Int = 0, wait: Duration = .zero, isHeld: Bool = false,
    _ limit: RateLimit
  ) -> Double? {
    DrainEstimate(pending: pending, rate: rate, longestParked: parked, wait: wait, isHeld: isHeld).duration(limit)
      .map { Double($0.components.seconds) + Double($0.components.attoseconds) / 1e18 }
  }

  @Test("goes by what was delivered lately, and never by more than the limit allows")
  func rates() {
    #expect(seconds(pending: 1000, rate: 10, limit) == 100)
    #expect(seconds(pending: 1000, rate: 5000, limit) == 10)
    #expect(seconds(pending: 1000, limit) == 10)
    #expect(seconds(pending: 1000, rate: 5000, .off) == 0.2)
    #expect(seconds(pending: 1000, .off) == nil)
    #expect(seconds(pending: 0, .off) == 0)
  }

  @Test("takes the install with most parked at its own limit, and the wait before the next try")
  func parked() {
    #expect(seconds(pending: 1000, rate: 100, parked: 900, limit) == 180)
    #expect(seconds(pending: 1000, rate: 100, wait: .seconds(60), limit) == 70)
    #expect(seconds(pending: 1000, rate: 100, isHeld: true, limit) == nil)
  }
}
