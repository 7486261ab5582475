import Synchronization

/// Watches how much room a file system has left, asking the system at most once a second.
///
/// Shared by the log and the sinks, so that both pause at the same mark and neither starves the other.
public final class FreeSpace: Sendable {
  private struct Reading {
    var at: ContinuousClock.Instant
    var bytes: UInt64
  }

  public let path: String
  /// Bytes below which nothing more is written.
  public var minimum: UInt64 { mark.load(ordering: .relaxed) }
  private let mark: Atomic<UInt64>
  private let disk: any Disk
  private let last = Mutex<Reading?>(nil)

  public init(path: String, minimum: Int, disk: any Disk = RealDisk()) {
    self.path = path
    mark = Atomic(UInt64(max(0, minimum)))
    self.disk = disk
  }

  /// Takes another mark, from now on.
  public func setMinimum(_ bytes: Int) { mark.store(UInt64(max(0, bytes)), ordering: .relaxed) }

  /// Whether less than the minimum is left. When the system can't say, it isn't low: the write itself will tell.
  public var isLow: Bool {
    let minimum = minimum
    return minimum > 0 && availableBytes < minimum
  }

  /// Bytes left, at most a second old.
  public var availableBytes: UInt64 {
    let now = ContinuousClock.now
    return last.withLock { last in
      if let last, now - last.at < .seconds(1) { return last.bytes }
      let bytes = (try? disk.freeSpace(path)) ?? .max
      last = Reading(at: now, bytes: bytes)
      return bytes
    }
  }

  /// Forgets the last answer: the next question goes to the system.
  public func refresh() { last.withLock { $0 = nil } }
}
