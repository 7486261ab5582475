import EventsAPI
import Observability

/// The upstream's own metrics.
struct DeliveryMetrics: Sendable {
  /// Events whose time the upstream replaced.
  let clamped: Counter
  /// Events the upstream rejected without saying which.
  let rejectedUnnamed: Counter
  private let attempts: AttemptMetrics
  private let rejections: [RejectionCode: Counter]
  private let otherRejections: Counter

  init(_ registry: MetricsRegistry, destination: String) {
    attempts = AttemptMetrics(registry, destination: destination)
    clamped = registry.counter(
      "event_relay_destination_clamped_events_total", "Delivered events whose occurred_at the destination replaced.",
      [("destination", destination)])
    rejectedUnnamed = registry.counter(
      "event_relay_destination_rejected_unnamed_events_total",
      "Events a destination rejected of batches it took without saying which: they count as delivered.",
      [("destination", destination)])
    func rejections(_ code: String) -> Counter {
      registry.counter(
        "event_relay_destination_rejected_events_total",
        "Events a destination rejected of batches it took, by its code.",
        [("destination", destination), ("code", code)])
    }
    self.rejections = Dictionary(uniqueKeysWithValues: RejectionCode.allCases.map { ($0, rejections($0.rawValue)) })
    otherRejections = rejections("other")
  }

  /// Counts an event the upstream rejected; a code that the API doesn't have is `other`.
  func countRejection(_ code: String) {
    (RejectionCode(rawValue: code).flatMap { rejections[$0] } ?? otherRejections).add()
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
