import Glibc

/// A lock, with conditions to wait for while it is let go.
///
/// `@unchecked`: the pointer never changes, and what it points at is made to be shared by threads.
final class Monitor: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  init() {
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func lock() { pthread_mutex_lock(mutex) }
  func unlock() { pthread_mutex_unlock(mutex) }

  func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    lock()
    defer { unlock() }
    return try body()
  }

  /// Lets go of the lock until the condition is signalled (or by chance): the caller looks again at what it waits for.
  func wait(for condition: Condition) { pthread_cond_wait(condition.condition, mutex) }

  /// As ``wait(for:)``, but no longer than so many milliseconds.
  func wait(for condition: Condition, milliseconds: Int) {
    var deadline = timespec()
    clock_gettime(CLOCK_MONOTONIC, &deadline)
    let nanoseconds = deadline.tv_nsec + (milliseconds % 1000) * 1_000_000
    deadline.tv_sec += milliseconds / 1000 + nanoseconds / 1_000_000_000
    deadline.tv_nsec = nanoseconds % 1_000_000_000
    pthread_cond_timedwait(condition.condition, mutex, &deadline)
  }
}
