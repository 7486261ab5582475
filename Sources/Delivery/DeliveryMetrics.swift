import EventsAPI
import Observability

/// The upstream's own metrics: made once, so that counting is one addition.
struct DeliveryMetrics: Sendable {
  enum Attempt: String, Sendable, CaseIterable {
    case delivered
    case rateLimited = "rate_limited"
    case refused
    case serverError = "server_error"
    case network
    case foreign
    case tooLarge = "too_large"

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

  /// Events whose time the upstream replaced.
  let clamped: Counter

  private let rejections: [RejectionCode: Counter]
  private let otherRejections: Counter
  private let attempts: [Attempt: Counter]
  private let requestSeconds: Histogram

  init(_ registry: MetricsRegistry, destination: String) {
    attempts = Dictionary(
      uniqueKeysWithValues: Attempt.allCases.map { outcome in
        (
          outcome,
          registry.counter(
            "event_relay_destination_attempts_total", "Requests to a destination by what came of them.",
            [("destination", destination), ("outcome", outcome.rawValue)])
        )
      })
    func rejections(_ code: String) -> Counter {
      registry.counter(
        "event_relay_destination_rejected_events_total",
        "Events a destination rejected of batches it took, by its code.",
        [("destination", destination), ("code", code)])
    }
    self.rejections = Dictionary(uniqueKeysWithValues: RejectionCode.allCases.map { ($0, rejections($0.rawValue)) })
    otherRejections = rejections("other")
    clamped = registry.counter(
      "event_relay_destination_clamped_events_total", "Delivered events whose occurred_at the destination replaced.",
      [("destination", destination)])
    requestSeconds = registry.histogram(
      "event_relay_destination_request_seconds", "How long requests to a destination took.",
      [("destination", destination)])
  }

  /// Counts an event the upstream rejected; a code that the API doesn't have is `other`.
  func countRejection(_ code: String) {
    (RejectionCode(rawValue: code).flatMap { rejections[$0] } ?? otherRejections).add()
  }

  func count(_ outcome: Attempt, took: Duration) {
    attempts[outcome]?.add()
    requestSeconds.observe(took)
  }
}
