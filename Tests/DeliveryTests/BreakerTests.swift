import Clocks
import EventLog
import Testing

@testable import Delivery

@Suite("Breakers and hunts")
struct BreakerTests {
  private let wallNow = Timestamp(milliseconds: 1_792_757_071_512)

  private func portion(_ numbers: ClosedRange<UInt64>, faults: Int) -> Portion {
    var events = EventRanges()
    for number in numbers { events.append(number, follows: true) }
    return Portion(events: events, attempts: faults, serverFaults: faults)
  }

  @Test("the third refusal in a row opens the breaker; probes are put back; anything else closes it")
  func refusals() {
    var breaker = RefusalBreaker()
    #expect(breaker.refused(.key, holds: true, wallNow: wallNow) == .deadLetter)
    #expect(breaker.refused(.key, holds: true, wallNow: wallNow) == .deadLetter)
    #expect(breaker.refused(.key, holds: true, wallNow: wallNow) == .deadLetterAndOpen(wait: .seconds(60)))
    #expect(breaker.isOpen)
    for _ in 0..<100 { #expect(breaker.refused(.key, holds: true, wallNow: wallNow) == .putBack(wait: .seconds(60))) }
    breaker.close()
    #expect(breaker == RefusalBreaker())
    #expect(breaker.refused(.key, holds: true, wallNow: wallNow) == .deadLetter)
  }

  @Test("with dead_letter nothing is held")
  func burns() {
    var breaker = RefusalBreaker()
    for _ in 0..<10 { #expect(breaker.refused(.quota, holds: false, wallNow: wallNow) == .deadLetter) }
    #expect(!breaker.isOpen)
  }

  @Test(
    "a quota is asked about every hour and when the month begins",
    arguments: [
      ("2026-11-30T22:30:00.000Z", 3600), ("2026-11-30T23:59:30.000Z", 30), ("2026-12-31T23:00:01.000Z", 3599),
      ("2026-12-01T00:00:00.000Z", 3600),
    ])
  func quota(now: String, seconds: Int) throws {
    let days = Timestamp.days(
      year: try #require(Int(now.prefix(4))), month: try #require(Int(now.dropFirst(5).prefix(2))),
      day: try #require(Int(now.dropFirst(8).prefix(2))))
    let time = now.dropFirst(11).prefix(8).split(separator: ":").compactMap { Int64($0) }
    let moment = Timestamp(milliseconds: (days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]) * 1000)
    #expect(RefusalBreaker.wait(.quota, moment) == .seconds(seconds))
    #expect(RefusalBreaker.wait(.key, moment) == .seconds(60))
  }

  @Test("a batch is the same twice and halved after the third fault")
  func halves() {
    var hunt = PoisonHunt()
    #expect(hunt.fault(portion(1...100, faults: 1)) == .again)
    #expect(hunt.fault(portion(1...100, faults: 2)) == .again)
    #expect(hunt.fault(portion(1...100, faults: 3)) == .halve)
    #expect(hunt.fault(portion(1...50, faults: 4)) == .halve)
    #expect(hunt.fault(portion(1...1, faults: 9)) == .stepAside)
    #expect(hunt.isActive)
  }

  @Test("a single event is poison when it has failed alone three times while others passed")
  func poison() throws {
    var hunt = PoisonHunt()
    #expect(hunt.fault(portion(1...1, faults: 9)) == .stepAside)
    hunt.passed()
    #expect(hunt.isDue(hasOthers: true))
    let second = hunt.takeNext()
    #expect(hunt.fault(try #require(second)) == .stepAside)
    #expect(!hunt.isDue(hasOthers: true))
    hunt.passed()
    let third = hunt.takeNext()
    #expect(hunt.fault(try #require(third)) == .poison)
    #expect(!hunt.isActive)
  }

  @Test("when nothing passes it is an outage: nobody is given up, and what follows is divided slowly")
  func outage() throws {
    var hunt = PoisonHunt()
    #expect(hunt.fault(portion(1...1, faults: 9)) == .stepAside)
    for faults in 10..<400 {
      #expect(!hunt.isDue(hasOthers: true))
      let isThird = faults % 3 == 0
      let single = UInt64(faults)
      let isFull = hunt.suspects.count == PoisonHunt.suspectsMax
      let step = hunt.fault(faults < 200 ? portion(2...50, faults: faults) : portion(single...single, faults: faults))
      #expect(step == (!isThird ? .again : faults < 200 ? .halve : isFull ? .again : .stepAside))
      #expect(hunt.isDue(hasOthers: true))
      let suspect = hunt.takeNext()
      #expect(hunt.fault(try #require(suspect)) == .stepAside)
    }
    #expect(hunt.suspects.map(\.faults) == Array(repeating: 1, count: PoisonHunt.suspectsMax))
    // It ends: what stepped aside goes in its order.
    hunt.passed()
    var numbers: [UInt64] = []
    while let suspect = hunt.takeNext() { numbers.append(suspect.number) }
    #expect(numbers == numbers.sorted())
  }

  @Test("after a 429 installs are halved; one that is alone is parked, and the key is the cause when nothing passes")
  func rateHunt() {
    var hunt = RateHunt()
    #expect(hunt.refused(installs: 8, used: 500) == .halve)
    hunt.passed()
    #expect(hunt.refused(installs: 4, used: 600) == .halve)
    #expect(hunt.refused(installs: 1, used: 600) == .park)
    hunt.passed()
    let isKey = hunt.end()
    #expect(!isKey, "the install was it")
    #expect(hunt.refused(installs: 8, used: 500) == .halve)
    hunt.passed()
    #expect(hunt.used == 500)
    let isKeyNow = hunt.end()
    #expect(isKeyNow, "all parts passed: it was the key")
    #expect(hunt.refused(installs: 1, used: 500) == .park)
    #expect(hunt.refused(installs: 9, used: 500) == .keyIsCause)
    let isKeyAgain = hunt.end()
    #expect(isKeyAgain)
    #expect(!hunt.isActive)
  }

  @Test("more requests go at once while answers stay as fast, fewer when they don't, one after a failure")
  func concurrency() {
    var control = ConcurrencyControl(most: 8)
    for _ in 0..<100 { control.answered(after: .milliseconds(20), underWay: control.limit) }
    #expect(control.limit == 8)
    // An upstream that does two at a time: beyond that they wait.
    control = ConcurrencyControl(most: 8)
    var most = 0
    for _ in 0..<1900 {
      let waiting = max(1, Double(control.limit) / 2)
      control.answered(after: .milliseconds(Int64(20 * waiting)), underWay: control.limit)
      most = max(most, control.limit)
    }
    #expect((2...5).contains(control.limit))
    #expect((2...5).contains(most), "\(most) at once")
    control.failed()
    #expect(control.limit == 1)
    control = ConcurrencyControl(most: 1)
    for _ in 0..<100 { control.answered(after: .milliseconds(20), underWay: 1) }
    #expect(control.limit == 1)
  }

  @Test("one request that isn't full use of the limit raises nothing")
  func idle() {
    var control = ConcurrencyControl(most: 8)
    control.answered(after: .milliseconds(20), underWay: 1)
    #expect(control.limit == 2)
    for _ in 0..<100 { control.answered(after: .milliseconds(20), underWay: 1) }
    #expect(control.limit == 2)
  }
}
