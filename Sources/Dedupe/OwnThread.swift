import CPlatform
import Glibc

/// A thread for work that blocks, apart from Swift's cooperative pool.
enum OwnThread {
  private final class Body {
    let name: String
    let run: @Sendable () -> Void
    init(name: String, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  /// Starts a detached thread; `name` is what tools show, at most 15 bytes.
  /// - Returns: 0, or the error number.
  static func start(name: String, _ run: @escaping @Sendable () -> Void) -> Int32 {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let body = Unmanaged.passRetained(Body(name: name, run: run))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        platform_name_thread(body.name)
        body.run()
        return nil
      }, body.toOpaque())
    if code != 0 { body.release() }
    return code
  }
}
