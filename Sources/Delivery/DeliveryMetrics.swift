import EventsAPI
import Observability

/// The upstream's own metrics.
struct DeliveryMetrics: Sendable {
  /// Events whose time the upstream replaced.
  let clamped: Counter
  private let attempts: AttemptMetrics

  init(_ registry: MetricsRegistry, destination: String) {
    attempts = AttemptMetrics(registry, destination: destination)
    clamped = registry.counter(
      "event_relay_destination_clamped_events_total", "Delivered events whose occurred_at the destination replaced.",
      [("destination", destination)])
  }

  func count(_ outcome: AttemptMetrics.Outcome, took: Duration) { attempts.count(outcome, took: took) }
}

extension AttemptMetrics.Outcome {
  init(_ verdict: UpstreamVerdict) {
    self =
      switch verdict {
      case .delivered: .delivered
      case .retry(_, .rateLimited): .rateLimited
      case .retry(_, .serverError): .serverError
      case .retry(_, .foreign): .foreign
      case .tooLarge: .tooLarge
      case .badRequest, .refused: .refused
      }
  }
}
