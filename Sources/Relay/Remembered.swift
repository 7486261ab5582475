import Synchronization

/// A figure that costs something to get, got anew at most once in a while.
final class Remembered: Sendable {
  private let period: Duration
  private let read: @Sendable () -> Int
  private let last = Mutex<(value: Int, at: ContinuousClock.Instant)?>(nil)

  init(for period: Duration, _ read: @escaping @Sendable () -> Int) {
    self.period = period
    self.read = read
  }

  var value: Int {
    last.withLock { last in
      let now = ContinuousClock.now
      if let known = last, now - known.at < period { return known.value }
      let value = read()
      last = (value, now)
      return value
    }
  }
}
