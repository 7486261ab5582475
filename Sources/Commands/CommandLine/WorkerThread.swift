import Glibc

/// Threads for what blocks: Swift's own pool has as many as there are cores, and none of them may wait for a disk or a pipe.
enum WorkerThread {
  /// Runs a body on a thread of its own and waits for it without blocking.
  static func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      let job = Unmanaged.passRetained(Job { continuation.resume(returning: body()) })
      var thread = pthread_t()
      let failure = pthread_create(
        &thread, nil,
        { job in
          Unmanaged<Job>.fromOpaque(job!).takeRetainedValue().run()
          return nil
        }, job.toOpaque())
      guard failure == 0 else {
        // No thread to be had: better to block than not to work.
        return job.takeRetainedValue().run()
      }
      pthread_detach(thread)
    }
  }

  private final class Job: Sendable {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
  }
}
