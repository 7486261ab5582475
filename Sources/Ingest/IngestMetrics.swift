import EventsAPI
import Observability
import Synchronization

/// What ingest counts. Label values are closed sets: routes, statuses, codes, and the apps of the configuration.
final class IngestMetrics: Sendable {
  /// The counters of one app's metric label.
  struct AppCounters: Sendable {
    let accepted, rejected, clamped: Counter
  }

  private let registry: MetricsRegistry
  private let byApp = Mutex<[String: AppCounters]>([:])
  private let byRequest = Mutex<[RequestKey: Counter]>([:])
  private let byCode: [RejectionCode: Counter]
  let requestSeconds: Histogram

  private struct RequestKey: Hashable {
    var route: Route
    var status: Int
  }

  init(_ registry: MetricsRegistry) {
    self.registry = registry
    requestSeconds = registry.histogram(
      "event_relay_ingest_request_seconds", "Time from a whole request to its answer.")
    byCode = Dictionary(
      uniqueKeysWithValues: RejectionCode.allCases.map { code in
        let counter = registry.counter(
          "event_relay_ingest_rejected_events_total", "Events rejected, by the API's code.", [("code", code.rawValue)])
        return (code, counter)
      })
  }

  func counters(ofApp label: String) -> AppCounters {
    byApp.withLock { known in
      if let counters = known[label] { return counters }
      func events(_ outcome: String) -> Counter {
        registry.counter(
          "event_relay_ingest_events_total", "Events by what ingest made of them.",
          [("app", label), ("outcome", outcome)])
      }
      let counters = AppCounters(
        accepted: events("accepted"), rejected: events("rejected"),
        clamped: registry.counter(
          "event_relay_ingest_clamped_events_total", "Accepted events whose occurred_at was out of range.",
          [("app", label)]))
      _ = events("duplicate")
      known[label] = counters
      return counters
    }
  }

  /// Counts a request's events, once it is settled that the sender gets its answer: each in exactly one outcome.
  func count(_ app: AppCounters, accepted: Int, rejected: [RejectionCode], clamped: Int) {
    app.accepted.add(accepted)
    app.rejected.add(rejected.count)
    app.clamped.add(clamped)
    for code in rejected { byCode[code]?.add() }
  }

  func countRequest(_ route: Route, status: Int) {
    byRequest.withLock { known in
      if let counter = known[RequestKey(route: route, status: status)] { return counter }
      let counter = registry.counter(
        "event_relay_ingest_requests_total", "Requests answered.", [("route", route.rawValue), ("status", "\(status)")])
      known[RequestKey(route: route, status: status)] = counter
      return counter
    }.add()
  }
}
