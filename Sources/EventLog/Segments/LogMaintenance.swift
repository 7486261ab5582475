/// Prepares segment files ahead of their use, and rewrites those that hold little, on a thread of its own.
///
/// `@unchecked`: guarded by `monitor`.
final class LogMaintenance: @unchecked Sendable {
  private let keeper: LogKeeper
  private let files: SegmentFiles
  private let rewriter: SegmentRewriter
  private let monitor = Monitor()
  private let changed = Condition()
  private var isStopping = false

  init(keeper: LogKeeper) {
    self.keeper = keeper
    files = keeper.files
    rewriter = SegmentRewriter(keeper)
  }

  func run() {
    monitor.lock()
    while !isStopping {
      monitor.unlock()
      keeper.lookAfterKept()
      _ = files.fillAhead { [monitor] in monitor.withLock { self.isStopping } }
      rewriter.lookAround { [monitor] in monitor.withLock { self.isStopping } }
      monitor.lock()
      // A look every second finds a spare that was used, and a disk that has space again.
      if !isStopping { monitor.wait(for: changed, milliseconds: 1000) }
    }
    monitor.unlock()
  }

  /// One look at the segments on the calling thread: for logs without threads.
  func lookInline() {
    keeper.lookAfterKept()
    rewriter.lookAround { false }
  }

  func stop() {
    monitor.withLock {
      isStopping = true
      changed.signalAll()
    }
  }
}
