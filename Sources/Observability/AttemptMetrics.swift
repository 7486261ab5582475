/// How requests to a destination go: made once, so that counting is one addition.
public struct AttemptMetrics: Sendable {
  /// What came of a request. A closed set, and the label's values.
  public enum Outcome: String, Sendable, CaseIterable {
    case delivered
    case rateLimited = "rate_limited"
    case refused
    case serverError = "server_error"
    case network
    case foreign
    case tooLarge = "too_large"
  }

  private let attempts: [Outcome: Counter]
  private let requestSeconds: Histogram

  public init(_ registry: MetricsRegistry, destination: String) {
    attempts = Dictionary(
      uniqueKeysWithValues: Outcome.allCases.map { outcome in
        (
          outcome,
          registry.counter(
            "event_relay_destination_attempts_total", "Requests to a destination by what came of them.",
            [("destination", destination), ("outcome", outcome.rawValue)])
        )
      })
    requestSeconds = registry.histogram(
      "event_relay_destination_request_seconds", "How long requests to a destination took.",
      [("destination", destination)])
  }

  public func count(_ outcome: Outcome, took: Duration) {
    attempts[outcome]?.add()
    requestSeconds.observe(took)
  }
}
