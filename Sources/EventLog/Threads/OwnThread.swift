import CPlatform
import Glibc

/// A thread outside Swift's cooperative pool, for work that blocks.
///
/// `@unchecked`: the handle is written once by the initialiser, and `join` is called by the owner alone.
final class OwnThread: @unchecked Sendable {
  private var handle = pthread_t()
  private var isJoined = false

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
    let body = Unmanaged.passRetained(Body(name: name, run: run))
    let code = pthread_create(
      &handle, nil,
      { pointer in
        let body = Unmanaged<Body>.fromOpaque(pointer!).takeRetainedValue()
        platform_name_thread(body.name)
        body.run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      body.release()
      throw LogError("can't start the log's thread \(name): \(String(cString: strerror(code)))")
    }
  }

  func join() {
    guard !isJoined else { return }
    isJoined = true
    pthread_join(handle, nil)
  }
}
