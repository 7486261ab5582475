import EventLog
import Observability

/// Each destination's ledger as metrics: `accepted` and `replayed` together are the sum of the other columns.
enum LedgerMetrics {
  /// The columns, as the label says them. A closed set.
  static let columns: [(name: String, count: @Sendable (Ledger) -> UInt64)] = [
    ("accepted", { $0.accepted }),
    ("replayed", { $0.sentAgain }),
    ("delivered", { $0.settled[.delivered] }),
    ("waiting", { $0.waiting }),
    ("dead_lettered", { $0.deadLettered }),
    ("dropped", { $0.dropped }),
    ("filtered", { $0.settled[.filtered] }),
    ("lost", { $0.settled[.lost] }),
  ]

  static func register(in metrics: MetricsRegistry, statuses: @escaping @Sendable () -> [DestinationStatus]) {
    metrics.family(
      "event_relay_destination_ledger_events",
      "The destination's ledger: accepted + replayed = delivered + waiting + dead_lettered + dropped + filtered + lost.",
      type: "gauge"
    ) {
      statuses().flatMap { status in
        columns.map { column in
          ([("destination", status.name), ("column", column.name)], Double(column.count(status.ledger)))
        }
      }
    }
  }
}
