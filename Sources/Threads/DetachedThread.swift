import CPlatform
import Glibc

/// A thread for work that blocks, apart from Swift's cooperative pool, in which nothing may.
public enum DetachedThread {
  private final class Body {
    let name: String
    let niceness: Int32
    let run: @Sendable () -> Void

    init(name: String, niceness: Int32, run: @escaping @Sendable () -> Void) {
      self.name = name
      self.niceness = niceness
      self.run = run
    }
  }

  /// Starts a thread that nobody waits for.
  ///
  /// - Parameters:
  ///   - name: what tools show of it, at most 15 bytes.
  ///   - stackBytes: 0: as many as the system gives.
  ///   - niceness: more than 0 lets others go first; see nice(2).
  /// - Returns: 0, or the error number.
  public static func start(
    name: String, stackBytes: Int = 0, niceness: Int32 = 0, _ run: @escaping @Sendable () -> Void
  ) -> Int32 {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    if stackBytes > 0 { pthread_attr_setstacksize(&attributes, stackBytes) }
    let body = Unmanaged.passRetained(Body(name: name, niceness: niceness, run: run))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        let body = Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        platform_name_thread(body.name)
        // (Of this thread alone, as Linux has it.)
        if body.niceness != 0 { setpriority(Int32(PRIO_PROCESS.rawValue), 0, body.niceness) }
        body.run()
        return nil
      }, body.toOpaque())
    if code != 0 { body.release() }
    return code
  }
}
