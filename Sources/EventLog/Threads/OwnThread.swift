import CPlatform
import Glibc
import Synchronization

/// A thread outside Swift's cooperative pool, for work that blocks.
final class OwnThread: Sendable {
  /// Nil once it has been joined.
  private let handle: Mutex<pthread_t?>

  private final class Body {
    let name: String
    let run: @Sendable () -> Void
    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// Starts a thread; `name` is what tools show, at most 15 bytes.
  init(name: String, run: @escaping @Sendable () -> Void) throws(LogError) {
    var handle = pthread_t()
    let body = Unmanaged.passRetained(Body(name: name, run: run))
    let code = pthread_create(
      &handle, nil,
      { pointer in
        let body = Unmanaged<Body>.fromOpaque(pointer!).takeRetainedValue()
        platform_name_thread(body.name)
        body.run()
        return nil
      }, body.toOpaque())
    self.handle = Mutex(handle)
    guard code == 0 else {
      body.release()
      throw LogError("can't start the log's thread \(name): \(String(cString: strerror(code)))")
    }
  }

  /// Waits until the thread has ended. Idempotent.
  func join() {
    handle.withLock { handle in
      if let running = handle { pthread_join(running, nil) }
      handle = nil
    }
  }
}
