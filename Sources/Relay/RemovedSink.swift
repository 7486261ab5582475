import EventLog

/// A sink that is configured no longer and is still owed events: shown, so that somebody sees what holds the log.
///
/// It reads nothing. Put back under its name, it goes on where it was.
final class RemovedSink: Destination {
  let name: String
  let type = "removed"
  private let subscription: any Subscription
  private let record: String

  /// - Parameter record: the file that keeps its place, for whoever wants to give it up.
  init(_ subscription: any Subscription, record: String) {
    name = subscription.destination
    self.subscription = subscription
    self.record = record
  }

  func start() {}
  func flush(until deadline: ContinuousClock.Instant) async -> FlushResult {
    FlushResult(flushed: 0, pending: subscription.pending.events)
  }
  func stop(until deadline: ContinuousClock.Instant) async {}

  var status: DestinationStatus {
    DestinationStatus(
      name: name, type: type, state: .held,
      detail: "This sink is no longer configured, and the log keeps what it is owed, and all that comes after: put it "
        + "back under sinks, or give up its events by stopping the relay and removing \(record).",
      pending: subscription.pending, ledger: subscription.ledger)
  }
}
