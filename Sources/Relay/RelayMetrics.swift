import Clocks
import DeadLetters
import EventLog
import Observability

/// The metrics that tell the state of the whole: made of the destinations' states at each scrape.
enum RelayMetrics {
  static let version = "event_relay_build_info"

  static func register(
    in metrics: MetricsRegistry, version: String, clock: WallClock, connections: @escaping @Sendable () -> Int,
    statuses: @escaping @Sendable () -> [DestinationStatus],
    removedLetters: @escaping @Sendable () -> [String: [DeadLetterRemoval: Int]]
  ) {
    metrics.family(
      "event_relay_dead_letters_removed_total",
      "Dead letters that went without being sent: for dead_letters.max_size, for their age, or dropped by somebody.",
      type: "counter"
    ) {
      let removed = removedLetters()
      return statuses().flatMap { status in
        DeadLetterRemoval.allCases.map { reason in
          (
            [("destination", status.name), ("reason", reason.rawValue)],
            Double(removed[status.name]?[reason] ?? 0)
          )
        }
      }
    }
    metrics.gauge("event_relay_build_info", "Always 1; the version stands in the label.", [("version", version)]) { 1 }
    metrics.gauge("event_relay_ingest_connections", "Connections of senders that are open.") { Double(connections()) }
    perDestination(metrics, statuses, clock)
    metrics.family(
      "event_relay_dead_letter_events_total", "Events that went to the dead letters, by reason.", type: "counter"
    ) {
      statuses().flatMap { status in
        Outcome.allCases.filter(\.isDeadLetter).map { reason in
          ([("destination", status.name), ("reason", reason.rawValue)], Double(status.ledger.settled[reason]))
        }
      }
    }
  }

  private static func perDestination(
    _ metrics: MetricsRegistry, _ statuses: @escaping @Sendable () -> [DestinationStatus], _ clock: WallClock
  ) {
    func family(
      _ name: String, _ help: String, type: String = "gauge", _ value: @escaping @Sendable (DestinationStatus) -> Double
    ) {
      metrics.family("event_relay_destination_\(name)", help, type: type) {
        statuses().map { ([("destination", $0.name)], value($0)) }
      }
    }
    family("pending_events", "Events that wait for the destination.") { Double($0.pending.events) }
    family("oldest_pending_seconds", "How long the oldest of them has waited.") { status in
      status.pending.oldestReceivedAt.map { max(0, (clock.now - $0).seconds) } ?? 0
    }
    family("delivered_events_total", "Events delivered.", type: "counter") { Double($0.ledger.settled[.delivered]) }
    family("replayed_events_total", "Events put into the destination's queue to be sent again.", type: "counter") {
      Double($0.ledger.replayed)
    }
    family("retry_seconds", "Until the next attempt; 0 when none waits.") { status in
      status.retryAt.map { max(0, ($0 - clock.now).seconds) } ?? 0
    }
  }
}
