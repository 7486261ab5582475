import Clocks
import Synchronization

/// Tells whether the clock may judge `occurred_at`.
///
/// A clock that stands before the newest record in the data directory is plainly wrong: events are taken in, but none is
/// clamped until the clock has passed that record. From then on it is trusted.
public final class ClockTrust: Sendable {
  private let newestRecord: Timestamp?
  private let isTrusted: Atomic<Bool>

  public init(newestRecord: Timestamp?) {
    self.newestRecord = newestRecord
    isTrusted = Atomic(newestRecord == nil)
  }

  public func mayJudge(at now: Timestamp) -> Bool {
    if isTrusted.load(ordering: .relaxed) { return true }
    guard let newestRecord, now >= newestRecord else { return false }
    isTrusted.store(true, ordering: .relaxed)
    return true
  }
}
