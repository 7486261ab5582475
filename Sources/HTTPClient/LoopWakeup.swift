import CCurl
import Glibc

/// Wakes a thread that waits for sockets.
struct LoopWakeup: ~Copyable, Sendable {
  let descriptor: Int32

  init() {
    descriptor = client_wakeup_create()
    precondition(descriptor >= 0, "can't make an event descriptor: error \(errno); raise the limit of open files")
  }

  deinit { close(descriptor) }

  func signal() {
    var one: UInt64 = 1
    _ = write(descriptor, &one, 8)
  }

  func clear() {
    var count: UInt64 = 0
    _ = read(descriptor, &count, 8)
  }
}
