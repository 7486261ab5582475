import Glibc

/// Something threads wait for, with a ``Monitor``.
///
/// `@unchecked`: the pointer never changes, and what it points at is made to be shared by threads.
final class Condition: @unchecked Sendable {
  let condition: UnsafeMutablePointer<pthread_cond_t>

  init() {
    condition = .allocate(capacity: 1)
    condition.initialize(to: pthread_cond_t())
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(condition, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(condition)
    condition.deallocate()
  }

  func signalAll() { pthread_cond_broadcast(condition) }
}
