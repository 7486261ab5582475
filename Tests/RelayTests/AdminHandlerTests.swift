import EventLog
import Observability
import TestSupport
import Testing

@testable import Relay

@Suite("A flush's timeout")
struct FlushTimeoutTests {
  @Test("is a duration", arguments: [("2s", 2000), ("500ms", 500), ("1m", 60_000), ("0s", 0)])
  func reads(text: String, milliseconds: Int) {
    #expect(AdminHandler.duration(text) == .milliseconds(milliseconds))
  }

  @Test("is nothing else", arguments: ["", "2", "s", "-1s", "2h", "1.5s", "99999999999999999999s"])
  func refuses(text: String) {
    #expect(AdminHandler.duration(text) == nil)
  }
}

@Suite("A remembered figure")
struct RememberedTests {
  @Test("is got once in a while, however often it is asked for")
  func once() {
    let reads = Counter()
    let figure = Remembered(0, for: .seconds(3600)) {
      reads.add()
      return 7
    }
    for _ in 0..<5 { #expect(figure.value == 7) }
    #expect(reads.value == 1)
  }

  @Test("that can't be got stays what it was, and is got anew no more often for it")
  func failing() {
    let next = Fact<Int?>(nil)
    let looks = Fact(0)
    func remembered(_ period: Duration) -> Remembered<Int> {
      Remembered(0, for: period) {
        looks.change { $0 += 1 }
        guard let value = next.value else { throw LogError("unreadable") }
        return value
      }
    }
    let now = remembered(.zero)
    #expect(now.value == 0)
    next.change { $0 = 7 }
    #expect(now.value == 7)
    next.change { $0 = nil }
    #expect(now.value == 7 && looks.value == 3)
    let seldom = remembered(.seconds(3600))
    #expect(seldom.value == 0 && seldom.value == 0 && looks.value == 4)
  }
}
