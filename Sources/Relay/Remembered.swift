import Synchronization

/// A figure that costs something to get, got anew at most once in a while.
final class Remembered<Value: Sendable>: Sendable {
  private let period: Duration
  private let read: @Sendable () -> Value
  private let last = Mutex<(value: Value, at: ContinuousClock.Instant)?>(nil)

  init(for period: Duration, _ read: @escaping @Sendable () -> Value) {
    self.period = period
    self.read = read
  }

  var value: Value {
    last.withLock { last in
      let now = ContinuousClock.now
      if let known = last, now - known.at < period { return known.value }
      let value = read()
      last = (value, now)
      return value
    }
  }
}
