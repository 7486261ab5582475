import Clocks
import EventLog
import JSON
import TestSupport

/// A view of a log of which only the earliest date matters, and that can't be read when a test says so.
final class DatedSubscription: Subscription {
  let destination = "upstream"
  let earliest: Fact<Timestamp?>
  let fails = Fact(false)

  init(_ earliest: Timestamp?) { self.earliest = Fact(earliest) }

  func earliestPendingDate(ofDialects isWanted: (UInt8) -> Bool) throws(LogError) -> Timestamp? {
    if fails.value { throw LogError("the disk is gone") }
    return earliest.value
  }

  let pending = Pending(events: 0, oldestReceivedAt: nil)
  let ledger = Ledger(accepted: 0, settled: Tally(), waiting: 0)
  let attachment: JSONValue? = nil
  func pending(_ lane: Lane) -> Pending { pending }
  func onProgress(_ wake: @escaping @Sendable () -> Void) {}
  func readyLanes() -> [Lane] { [] }
  func pendingLanes() -> [Lane] { [] }
  func read(_ lane: Lane, limit: ReadLimit, into batch: EventBatch) throws(LogError) -> Bool { false }
  func read(
    _ lane: Lane, again ranges: [ClosedRange<UInt64>], limit: ReadLimit, into batch: EventBatch
  ) throws(LogError) -> Bool { false }
  func rewind(_ lane: Lane) {}
  func acknowledge(_ lane: Lane, _ range: ClosedRange<UInt64>, _ tally: Tally) {}
  func commit(attachment: JSONValue?) throws(LogError) {}
  func discard() throws(LogError) {}
}
