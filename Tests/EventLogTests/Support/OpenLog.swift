import Clocks
import Observability
import TestSupport

@testable import EventLog

/// A log for one test, that can be opened again and again.
struct LogFixture {
  var directory: String
  var disk: any Disk = RealDisk()
  var configuration = FileLogConfiguration(segmentSize: 4096, maxSize: 1 << 20, minFreeDisk: 0)
  var tuning = FileLogTuning(isInline: true, stagingSize: 64 * 1024)
  var metrics = MetricsRegistry()
  var logger = Logger.silent
  var now: Int64 = 1_800_000_000_000

  func open() throws -> FileLog {
    let now = now
    return try FileLog.open(
      directory: "\(directory)/log", positions: "\(directory)/positions", replays: "\(directory)/replays",
      configuration: configuration, disk: disk, clock: WallClock { Timestamp(milliseconds: now) }, logger: logger,
      metrics: metrics,
      tuning: tuning)
  }
}

extension FileLogTuning {
  /// Lets a segment that holds little that is owed be rewritten however lately that changed, and however small the log is.
  mutating func rewriteAtOnce() {
    rewriteAfter = .zero
    rewriteAbove = 0
  }
}
