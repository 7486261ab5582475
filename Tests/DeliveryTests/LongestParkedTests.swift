import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("The longest of parked installs")
struct LongestParkedTests {
  private let now = ContinuousClock.now

  @Test("is another one when it shrinks")
  func shrinks() throws {
    var parked = ParkedEvents()
    for number in 0..<10 { parked.park(1, UInt64(number), room: .now) }
    for number in 10..<19 { parked.park(2, UInt64(number), room: .afterAnswers) }
    #expect(parked.longest == 10)
    let taken = parked.takeNext(at: now)
    var (install, events, _) = try #require(taken)
    #expect(install == 1 && parked.longest == 9)
    events.remove(through: 6, taken: 7)
    parked.putBack(install, events, room: .afterAnswers)
    #expect(parked.longest == 9)
    parked.answered(2)
    let second = parked.takeNext(at: now)
    #expect(second?.install == 2 && parked.longest == 3)
    parked.removeAll()
    #expect(parked.longest == 0)
  }

  @Test("is found however they grow and shrink")
  func random() {
    var numbers = SystemRandomNumberGenerator()
    for _ in 0..<20 {
      var parked = ParkedEvents()
      var model: [UInt64: Int] = [:]
      for number in 1...2000 {
        if Int.random(in: 0..<3, using: &numbers) > 0 || model.isEmpty {
          let install = UInt64.random(in: 0..<12, using: &numbers)
          parked.park(install, UInt64(number), room: .now)
          model[install, default: 0] += 1
        } else if let (install, events, _) = parked.takeNext(at: now) {
          var rest = events
          let taken = Int.random(in: 1...events.count, using: &numbers)
          if let last = events.runs.prefix(taken).last?.numbers.upperBound {
            rest.remove(through: last, taken: taken)
          }
          parked.putBack(install, rest, room: .now)
          model[install] = rest.isEmpty ? nil : rest.count
        }
        if number % 7 == 0 { #expect(parked.longest == model.values.max() ?? 0) }
      }
    }
  }
}
