import Apps
import Observability

/// What deny lists have kept out, over restarts too.
enum SuppressionMetrics {
  static func register(
    in metrics: MetricsRegistry, label: @escaping @Sendable (_ app: String) -> String,
    counts: @escaping @Sendable () -> SuppressionCounts
  ) {
    metrics.family(
      "event_relay_suppressed_events_total",
      "Events that deny lists have kept out since the relay was set up, of apps that are gone too (other).",
      type: "counter"
    ) {
      samples(counts(), label).map { ([("app", $0.label)], $0.value) }
    }
  }

  /// By label: apps that are no longer configured share one.
  static func samples(_ counts: SuppressionCounts, _ label: (String) -> String) -> [(label: String, value: Double)] {
    var byLabel: [String: Double] = [:]
    for (app, count) in counts.apps { byLabel[label(app), default: 0] += Double(count) }
    return byLabel.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
