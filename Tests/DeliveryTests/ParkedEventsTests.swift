import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("Parked events")
struct ParkedEventsTests {
  private let now = ContinuousClock.now

  @Test("an install's events come out in order, when its moment has come, and block what follows them")
  func order() throws {
    var parked = ParkedEvents()
    parked.park(7, 10, room: .at(now + .seconds(5)))
    parked.park(7, 11, follows: true, room: .now)
    parked.park(8, 12, room: .afterAnswers)
    #expect(parked.count == 3)
    #expect(parked.runs == 2)
    #expect(parked.installCount == 2)
    #expect(parked.isBlocked(7, 13))
    #expect(!parked.isBlocked(7, 9), "what is before goes before")
    #expect(!parked.isBlocked(9, 13))
    let none = parked.takeNext(at: now)
    #expect(none == nil)
    #expect(parked.nextDue == now + .seconds(5))
    let due = parked.takeNext(at: now + .seconds(5))
    let first = try #require(due)
    #expect(first.install == 7)
    #expect(first.events.numbers == [10...11])
    #expect(first.events.count == 2)
    let early = parked.takeNext(at: now + .seconds(500))
    #expect(early == nil)
    parked.answered(8)
    let answered = parked.takeNext(at: now)
    #expect(answered?.install == 8)
    #expect(parked.isEmpty && parked.count == 0 && parked.runs == 0)
  }

  @Test("an earlier event is put in front")
  func front() {
    var parked = ParkedEvents()
    parked.park(7, 10, room: .afterAnswers)
    parked.park(7, 4, room: .now)
    parked.park(7, 4, room: .now)
    parked.answered(7)
    let next = parked.takeNext(at: now)
    #expect(next?.events.numbers == [4...4, 10...10])
  }

  @Test("what is put back waits again; the bound is told")
  func bound() throws {
    var parked = ParkedEvents(runsMax: 10)
    for number in 0..<10 { parked.park(UInt64(number), UInt64(number), room: .now) }
    #expect(parked.isFull)
    let first = parked.takeNext(at: now)
    let (install, events, _) = try #require(first)
    #expect(!parked.isFull)
    parked.putBack(install, events, room: .at(now + .seconds(1)))
    #expect(parked.isFull)
    var seen: [UInt64] = []
    while let next = parked.takeNext(at: now) { seen.append(next.install) }
    #expect(seen == Array(1..<10), "each in its turn")
  }

  @Test("what lies scattered is counted so, also when what was between has been settled before a restart")
  func scattered() {
    var parked = ParkedEvents()
    for number in 0..<100 { parked.park(7, UInt64(2 * number), follows: true, room: .afterAnswers) }
    #expect(parked.count == 100 && parked.runs == 100)
  }

  @Test("all lanes share one bound, and those with the most give way")
  func share() {
    #expect(ParkedShare.level([], all: 100) == 100)
    #expect(ParkedShare.level([10, 90], all: 100) == 100)
    #expect(ParkedShare.level([10, 190], all: 100) == 90)
    #expect(ParkedShare.level([10, 60, 60], all: 100) == 45)
    #expect(ParkedShare.level(Array(repeating: 5, count: 1000), all: 100) == 1)
  }

  @Test("ranges give out their first events and keep the rest")
  func ranges() {
    var events = EventRanges([
      .init(numbers: 1...9, events: 3), .init(numbers: 20...20, events: 1), .init(numbers: 30...40, events: 5),
    ])
    #expect(events.count == 9)
    #expect(events.first(4) == [1...9, 20...20])
    #expect(events.first(5) == [1...9, 20...20, 30...40])
    events.remove(through: 33, taken: 5)
    #expect(events.runs == [.init(numbers: 34...40, events: 4)])
  }

  @Test("a request's events are told apart by their places, and put into the lane's order to be read")
  func select() {
    let numbers: [UInt64] = [30, 31, 5, 6, 7]
    let events = EventRanges([.init(numbers: 30...31, events: 2), .init(numbers: 5...7, events: 3)])
    let found = events.select({ numbers[$0] }) { $0 != 3 }
    #expect(found.numbers == [30...31, 5...5, 7...7])
    #expect(found.sorted().numbers == [5...5, 7...7, 30...31])
    #expect(found.sorted().count == 4)
  }
}
