import Dispatch
import Synchronization

/// For threads of one's own that want what only an asynchronous function gives.
enum Blocking {
  private final class Box<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }

  /// Waits for it. Never to be called in Swift's own pool.
  static func value<Value: Sendable>(_ body: @escaping @Sendable () async -> Value?) -> Value? {
    let box = Box<Value>()
    let isDone = DispatchSemaphore(value: 0)
    Task {
      let value = await body()
      box.value.withLock { $0 = value }
      isDone.signal()
    }
    isDone.wait()
    return box.value.withLock { $0 }
  }
}
