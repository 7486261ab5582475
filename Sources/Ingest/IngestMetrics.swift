import Observability
import Synchronization

/// What ingest counts. Label values are closed sets: routes, statuses, codes, and the apps of the configuration.
final class IngestMetrics: Sendable {
  /// The counters of one app's metric label.
  struct AppCounters: Sendable {
    let accepted, duplicates, conflicts, rejected, clamped, suppressed: Counter
  }

  /// What became of one request's events.
  struct Events {
    var accepted = 0
    var duplicates = 0
    /// Those of the duplicates whose bytes differ from the first ones'.
    var conflicts = 0
    /// Those of the accepted that were clamped.
    var clamped = 0
    /// By their protocol's codes.
    var rejected: [String] = []
    /// Those that a deny list keeps out.
    var suppressed = 0
  }

  private let registry: MetricsRegistry
  private let byApp = Mutex<[String: AppCounters]>([:])
  private let byRequest = Mutex<[RequestKey: Counter]>([:])
  private let byCode: [String: Counter]
  let requestSeconds: Histogram

  private struct RequestKey: Hashable {
    var route: String
    var status: Int
  }

  /// - Parameter rejectionCodes: all that there are.
  init(_ registry: MetricsRegistry, rejectionCodes: [String]) {
    self.registry = registry
    requestSeconds = registry.histogram(
      "event_relay_ingest_request_seconds", "Time from a whole request to its answer.")
    byCode = Dictionary(
      uniqueKeysWithValues: Set(rejectionCodes).sorted().map { code in
        let counter = registry.counter(
          "event_relay_ingest_rejected_events_total", "Events rejected, by their protocol's code.", [("code", code)])
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
        accepted: events("accepted"), duplicates: events("duplicate"),
        conflicts: registry.counter(
          "event_relay_ingest_conflicting_events_total",
          "Duplicates whose bytes differ from those first sent under their id.", [("app", label)]),
        rejected: events("rejected"),
        clamped: registry.counter(
          "event_relay_ingest_clamped_events_total", "Accepted events whose occurred_at was out of range.",
          [("app", label)]),
        suppressed: events("suppressed"))
      known[label] = counters
      return counters
    }
  }

  /// Counts a request's events, once it is settled that the sender gets its answer: each in exactly one outcome.
  func count(_ app: AppCounters, _ events: Events) {
    app.accepted.add(events.accepted)
    app.rejected.add(events.rejected.count)
    app.clamped.add(events.clamped)
    app.suppressed.add(events.suppressed)
    if events.duplicates > 0 {
      app.duplicates.add(events.duplicates)
      app.conflicts.add(events.conflicts)
    }
    for code in events.rejected { byCode[code]?.add() }
  }

  func countRequest(_ route: String, status: Int) {
    byRequest.withLock { known in
      if let counter = known[RequestKey(route: route, status: status)] { return counter }
      let counter = registry.counter(
        "event_relay_ingest_requests_total", "Requests answered.", [("route", route), ("status", "\(status)")])
      known[RequestKey(route: route, status: status)] = counter
      return counter
    }.add()
  }
}
