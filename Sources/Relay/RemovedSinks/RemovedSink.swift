import Clocks
import EventLog
import Synchronization

/// A sink that is configured no longer: its place in the log is kept for a while, so that it can go on there when it is put
/// back. Shown, so that somebody sees what holds the log.
///
/// It reads nothing.
final class RemovedSink: Destination {
  let name: String
  static let type = "removed"
  var type: String { Self.type }
  let subscription: any Subscription
  private let time: Mutex<RemovedSinkTime>
  private let isHolding: @Sendable () -> Bool

  /// - Parameter isHolding: whether the log keeps anything for it.
  init(_ subscription: any Subscription, _ time: RemovedSinkTime, isHolding: @escaping @Sendable () -> Bool) {
    self.isHolding = isHolding
    name = subscription.destination
    self.subscription = subscription
    self.time = Mutex(time)
  }

  var kept: RemovedSinkTime { time.withLock { $0 } }

  func keep(for keep: Duration) { time.withLock { $0.keep = keep } }

  func start() {}
  func flush(until deadline: ContinuousClock.Instant) async -> FlushResult {
    FlushResult(flushed: 0, pending: subscription.pending.events)
  }
  func stop(until deadline: ContinuousClock.Instant) async {}

  var status: DestinationStatus {
    DestinationStatus(
      name: name, type: type, state: isHolding() ? .held : .stopped,
      detail:
        "This sink is no longer configured. The log keeps what it was owed then, and nothing that came after longer "
        + "than others need it: put it back under sinks, and it goes on with what is there; else \(kept.sentence).",
      pending: subscription.pending, ledger: subscription.ledger)
  }
}
