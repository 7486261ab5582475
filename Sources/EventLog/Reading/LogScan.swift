import Glibc

/// Reads everything that is in the log, whoever is owed it and whether anybody is.
///
/// What it hasn't come past yet isn't let go for its age; it goes all the same when the log needs the room. Not thread-safe.
public final class LogScan {
  private let log: FileLog
  private let reader = LaneReader(app: .all)
  private let pin: Int
  /// The number after the last event to read.
  public let end: UInt64
  /// The number of the event that comes next, or a lower one.
  public private(set) var next: UInt64
  /// Events met that are damaged.
  public private(set) var damaged = 0

  init(_ log: FileLog, from first: UInt64, to end: UInt64) {
    self.log = log
    next = max(first, 1)
    self.end = end
    pin = log.keeper.pin(from: next)
  }

  deinit { log.keeper.unpin(pin) }

  /// Fills the batch with what comes next; false when there is nothing more.
  public func read(_ limit: ReadLimit, into batch: EventBatch) throws(LogError) -> Bool {
    while next < end {
      batch.removeAll()
      let result: LaneReader.Result
      do throws(LogError) {
        result = try reader.read(
          LaneReader.Request(from: next, through: end - 1, limit: limit, settled: IntervalSet()), into: batch,
          from: log.context)
      } catch {
        if error.isSegmentRemoved || reader.isSegmentRemoved(log.catalog) {
          sched_yield()
          continue
        }
        throw error
      }
      for range in result.lost { damaged += Int(range.upperBound - range.lowerBound) + 1 }
      next = result.next
      log.keeper.movePin(pin, to: next)
      if !batch.events.isEmpty { return true }
      if result.isAtEnd { return false }
    }
    return false
  }
}

extension FileLog {
  /// Reads through what is in the log from a number on, up to what has been stored by now or before another number.
  public func scan(from first: UInt64 = 0, to end: UInt64 = .max) -> LogScan {
    LogScan(self, from: first, to: min(end, catalog.monitor.withLock { catalog.publishedEnd }))
  }
}
