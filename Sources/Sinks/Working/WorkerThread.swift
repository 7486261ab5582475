import Glibc

/// A thread for work that blocks, apart from Swift's cooperative pool.
enum WorkerThread {
  private final class Body {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }

  /// Bytes: the work is shallow, and each sink has a thread.
  private static let stackSize = 512 * 1024

  /// A sink compresses and hashes in bursts of milliseconds. Whoever takes requests in goes first: what a sink does can wait,
  /// an answer can't.
  private static let niceness: Int32 = 10

  /// Starts a detached thread.
  /// - Returns: 0, or the error number.
  static func start(_ run: @escaping @Sendable () -> Void) -> Int32 {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    pthread_attr_setstacksize(&attributes, stackSize)
    let body = Unmanaged.passRetained(Body(run))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        // (Of this thread alone, as Linux has it.)
        setpriority(Int32(PRIO_PROCESS.rawValue), 0, WorkerThread.niceness)
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, body.toOpaque())
    guard code == 0 else {
      body.release()
      return code
    }
    return 0
  }
}
