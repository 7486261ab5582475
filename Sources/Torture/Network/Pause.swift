import Glibc

/// Time that passes: for threads of one's own.
enum Pause {
  static func sleep(_ duration: Duration) {
    let microseconds = duration / .microseconds(1)
    if microseconds > 0 { usleep(UInt32(min(microseconds, 4e9))) }
  }

  /// Asks again and again until something is so; false when the limit is over.
  static func wait(within limit: Duration, every step: Duration = .milliseconds(20), _ isSo: () -> Bool) -> Bool {
    let deadline = ContinuousClock.now + limit
    while !isSo() {
      if ContinuousClock.now >= deadline { return false }
      sleep(step)
    }
    return true
  }
}
