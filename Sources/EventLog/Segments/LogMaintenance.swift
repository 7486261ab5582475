/// Prepares segment files ahead of their use, on a thread of its own.
///
/// `@unchecked`: guarded by `monitor`.
final class LogMaintenance: @unchecked Sendable {
  private let files: SegmentFiles
  private let monitor = Monitor()
  private let changed = Condition()
  private var isStopping = false

  init(files: SegmentFiles) { self.files = files }

  func run() {
    monitor.lock()
    while !isStopping {
      monitor.unlock()
      _ = files.fillAhead { [monitor] in monitor.withLock { self.isStopping } }
      monitor.lock()
      // A look every second finds a spare that was used, and a disk that has space again.
      if !isStopping { monitor.wait(for: changed, milliseconds: 1000) }
    }
    monitor.unlock()
  }

  func stop() {
    monitor.withLock {
      isStopping = true
      changed.signalAll()
    }
  }
}
