import Synchronization

/// A figure that costs something to get, got anew at most once in a while. When it can't be got, the last one stands.
final class Remembered<Value: Sendable>: Sendable {
  private let period: Duration
  private let read: @Sendable () throws -> Value
  private let last: Mutex<(value: Value, at: ContinuousClock.Instant?)>

  /// - Parameter first: what stands until it could be got for the first time.
  init(_ first: Value, for period: Duration, _ read: @escaping @Sendable () throws -> Value) {
    self.period = period
    self.read = read
    last = Mutex((first, nil))
  }

  var value: Value {
    last.withLock { last in
      let now = ContinuousClock.now
      if let at = last.at, now - at < period { return last.value }
      if let value = try? read() { last.value = value }
      last.at = now
      return last.value
    }
  }
}
