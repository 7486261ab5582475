import Clocks

/// Counts the events of one key, or one install, against its limit a minute. Time never runs backwards in it.
struct RateLimiter: Sendable {
  private enum Count: Sendable {
    case sliding(SlidingWindow)
    case fixed(FixedWindow)
    case bucket(TokenBucket)
  }

  private var count: Count
  private let minute: Int64
  private var latest: Int64 = .min

  /// Nil for ``LimiterKind/none``.
  ///
  /// - Parameter minute: how many milliseconds a minute has; tests have shorter ones.
  init?(_ kind: LimiterKind, limit: Int, minute: Int64 = Self.minute) {
    self.minute = minute
    switch kind {
    case .sliding: count = .sliding(SlidingWindow(limit: limit, minute: minute))
    case .fixed: count = .fixed(FixedWindow(limit: limit, minute: minute))
    case .bucket: count = .bucket(TokenBucket(limit: limit, minute: minute))
    case .none: return nil
    }
  }

  static let minute: Int64 = 60_000

  /// How many milliseconds have to pass before so many events are let through; 0: none. Takes nothing.
  mutating func wait(for events: Int, at now: Timestamp) -> Int64 {
    latest = max(latest, now.milliseconds)
    switch count {
    case .sliding(var window):
      // Moved out and back, so that its memory isn't copied.
      count = .fixed(FixedWindow(limit: 0, minute: minute))
      defer { count = .sliding(window) }
      return window.wait(for: events, at: latest)
    case .fixed(let window): return window.wait(for: events, at: latest)
    case .bucket(let bucket): return bucket.wait(for: events, at: latest)
    }
  }

  /// Counts events that were let through.
  mutating func take(_ events: Int, at now: Timestamp) {
    latest = max(latest, now.milliseconds)
    switch count {
    case .sliding(var window):
      count = .fixed(FixedWindow(limit: 0, minute: minute))
      window.take(events, at: latest)
      count = .sliding(window)
    case .fixed(var window):
      window.take(events, at: latest)
      count = .fixed(window)
    case .bucket(var bucket):
      bucket.take(events, at: latest)
      count = .bucket(bucket)
    }
  }

  /// Whether it is as if nothing had ever been counted.
  func isIdle(at now: Timestamp) -> Bool { now.milliseconds >= latest && now.milliseconds - latest >= minute }
}

/// Never more than the limit in any 60 seconds: knows when each of the latest events came.
struct SlidingWindow: Sendable {
  let limit: Int
  let minute: Int64
  private var taken: [(at: Int64, events: Int)] = []
  private var first = 0
  private var total = 0

  init(limit: Int, minute: Int64) {
    self.limit = limit
    self.minute = minute
  }

  private mutating func forget(before moment: Int64) {
    while first < taken.count, taken[first].at <= moment {
      total -= taken[first].events
      first += 1
    }
    if first > 64, first * 2 > taken.count {
      taken.removeFirst(first)
      first = 0
    }
  }

  mutating func wait(for events: Int, at now: Int64) -> Int64 {
    forget(before: now - minute)
    var left = total
    if left + events <= limit { return 0 }
    for entry in taken[first...] {
      left -= entry.events
      if left + events <= limit { return entry.at + minute - now }
    }
    return minute
  }

  mutating func take(_ events: Int, at now: Int64) {
    forget(before: now - minute)
    total += events
    if first < taken.count, taken[taken.count - 1].at == now {
      taken[taken.count - 1].events += events
    } else {
      taken.append((now, events))
    }
  }
}

/// Never more than the limit in a minute of the clock.
struct FixedWindow: Sendable {
  let limit: Int
  let minute: Int64
  private var start: Int64 = .min
  private var total = 0

  init(limit: Int, minute: Int64) {
    self.limit = limit
    self.minute = minute
  }

  private func start(of now: Int64) -> Int64 {
    let into = now % minute
    return now - (into < 0 ? into + minute : into)
  }

  func wait(for events: Int, at now: Int64) -> Int64 {
    let current = self.start(of: now)
    let used = start == current ? total : 0
    return used + events <= limit ? 0 : current + minute - now
  }

  mutating func take(_ events: Int, at now: Int64) {
    let current = self.start(of: now)
    if start != current {
      start = current
      total = 0
    }
    total += events
  }
}

/// A bucket of tokens, as many as the limit, that fills in a minute.
struct TokenBucket: Sendable {
  let limit: Int
  let minute: Int64
  /// In parts of an event as small as a millisecond of the minute, so that one brings a whole number of them.
  private var tokens: Int64
  private var filledAt: Int64 = .min

  init(limit: Int, minute: Int64) {
    self.limit = limit
    self.minute = minute
    tokens = Int64(limit) * minute
  }

  private func tokens(at now: Int64) -> Int64 {
    guard filledAt != .min else { return tokens }
    let passed = min(now - filledAt, minute)
    return min(Int64(limit) * minute, tokens + passed * Int64(limit))
  }

  func wait(for events: Int, at now: Int64) -> Int64 {
    let missing = Int64(events) * minute - tokens(at: now)
    if missing <= 0 { return 0 }
    guard events <= limit, limit > 0 else { return minute }
    return (missing + Int64(limit) - 1) / Int64(limit)
  }

  mutating func take(_ events: Int, at now: Int64) {
    tokens = tokens(at: now) - Int64(events) * minute
    filledAt = now
  }
}
