import Observability
import Synchronization
import Testing

@testable import Ingest

@Suite("A limit of events a minute")
struct MinuteWindowTests {
  @Test("takes what fits, and says after how many seconds the whole request would")
  func fits() {
    var window = MinuteWindow(at: 1000)
    #expect(window.take(60, limit: 100, at: 1000) == 0)
    #expect(window.take(40, limit: 100, at: 1010) == 0)
    #expect(window.take(1, limit: 100, at: 1010) == 51)
    #expect(window.take(61, limit: 100, at: 1010) == 61)
    #expect(window.take(60, limit: 100, at: 1061) == 0)
    #expect(window.take(1, limit: 100, at: 1061) == 10)
  }

  @Test("never takes more than the limit within any 60 seconds, and the seconds it names are true", arguments: 1...10)
  func neverMore(round: Int) {
    var window = MinuteWindow(at: 0)
    var taken: [(second: Int64, events: Int)] = []
    var second: Int64 = 0
    for _ in 0..<2000 {
      second += Int64.random(in: 0...3)
      let events = Int.random(in: 1...100)
      let before = window
      let wait = window.take(events, limit: 150, at: second)
      if wait == 0 {
        taken.append((second, events))
        // Any 60 seconds touch 61 of them.
        let sum = taken.filter { $0.second >= second - 60 }.reduce(0) { $0 + $1.events }
        #expect(sum <= 150)
      } else {
        var later = before
        #expect(later.take(events, limit: 150, at: second + Int64(wait)) == 0)
        var sooner = before
        #expect(wait == 1 || sooner.take(events, limit: 150, at: second + Int64(wait) - 1) > 0)
      }
    }
    #expect(!taken.isEmpty)
  }

  @Test("takes back what was not stored, unless that is past already")
  func givesBack() {
    var window = MinuteWindow(at: 5)
    #expect(window.take(100, limit: 100, at: 5) == 0)
    window.giveBack(100, takenAt: 5)
    #expect(window.take(100, limit: 100, at: 6) == 0)
    #expect(window.take(100, limit: 100, at: 80) == 0)
    window.giveBack(100, takenAt: 6)
    #expect(window.take(1, limit: 100, at: 80) > 0)
  }

  @Test("forgets quiet apps, so that they don't add up")
  func bounded() {
    let now = Mutex<Int64>(0)
    let limit = SenderLimit(perMinute: 100, logger: .silent, clock: { now.withLock { $0 } })
    for number in 0..<20_000 {
      now.withLock { $0 = Int64(number) }
      guard case .taken = limit.take(1, of: "key-\(number)") else {
        Issue.record("an app of its own was refused")
        return
      }
    }
    #expect(limit.apps <= 2 * SenderLimit.appsBeforeSweep)
  }
}
