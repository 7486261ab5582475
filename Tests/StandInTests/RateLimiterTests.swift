import Clocks
import Testing

@testable import StandIn

@Suite("A rate limiter")
struct RateLimiterTests {
  /// What a limiter would say then.
  private func wait(_ limiter: RateLimiter, _ events: Int, _ milliseconds: Int64) -> Int64 {
    var limiter = limiter
    return limiter.wait(for: events, at: at(milliseconds))
  }

  private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

  @Test(
    "tells truly how long to wait, to the millisecond, whatever its minute",
    arguments: [LimiterKind.sliding, .fixed, .bucket], [60_000, 2000] as [Int64])
  func truthful(kind: LimiterKind, minute: Int64) throws {
    var random = Numbers(seed: 7)
    var limiter = try #require(RateLimiter(kind, limit: 100, minute: minute))
    var now: Int64 = 1_000_000
    for _ in 0..<5000 {
      now += Int64(random.next(Int(minute / 30)))
      let events = 1 + random.next(60)
      let wait = limiter.wait(for: events, at: at(now))
      guard wait > 0 else {
        limiter.take(events, at: at(now))
        continue
      }
      #expect(wait <= minute)
      #expect(self.wait(limiter, events, now + wait - 1) > 0)
      #expect(self.wait(limiter, events, now + wait) == 0)
    }
  }

  @Test("that slides lets no more than its limit through in any 60 seconds")
  func sliding() throws {
    var random = Numbers(seed: 3)
    var limiter = try #require(RateLimiter(.sliding, limit: 300))
    var taken: [(at: Int64, events: Int)] = []
    var now: Int64 = 0
    for _ in 0..<5000 {
      now += Int64(random.next(1500))
      let events = 1 + random.next(100)
      guard limiter.wait(for: events, at: at(now)) == 0 else { continue }
      limiter.take(events, at: at(now))
      taken.append((now, events))
      let inWindow = taken.filter { $0.at > now - 60_000 }.reduce(0) { $0 + $1.events }
      #expect(inWindow <= 300)
    }
    #expect(taken.count > 100)
  }

  @Test("with fixed windows begins anew with each minute of the clock")
  func fixed() throws {
    var limiter = try #require(RateLimiter(.fixed, limit: 10))
    limiter.take(10, at: at(119_999))
    #expect(wait(limiter, 1, 119_999) == 1)
    #expect(wait(limiter, 10, 120_000) == 0)
  }

  @Test("that is a bucket fills evenly")
  func bucket() throws {
    var limiter = try #require(RateLimiter(.bucket, limit: 60))
    limiter.take(60, at: at(0))
    #expect(wait(limiter, 1, 0) == 1000)
    #expect(wait(limiter, 30, 30_000) == 0)
    limiter.take(30, at: at(30_000))
    #expect(wait(limiter, 60, 1_000_000) == 0)
  }

  @Test("doesn't wait for ever for what is over the limit itself, nor when the clock goes back")
  func odd() throws {
    for kind in [LimiterKind.sliding, .fixed, .bucket] {
      var limiter = try #require(RateLimiter(kind, limit: 5))
      #expect((1...60_000).contains(wait(limiter, 6, 1000)))
      limiter.take(5, at: at(100_000))
      #expect((1...60_000).contains(wait(limiter, 1, 0)))
    }
    #expect(RateLimiter(.none, limit: 0) == nil)
  }
}

/// Numbers that look random and are the same in every run.
struct Numbers {
  private var state: UInt64
  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next(_ below: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(below))
  }
}
