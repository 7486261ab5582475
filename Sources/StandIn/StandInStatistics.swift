import EventsAPI

/// What happened since the start, for `GET /stats`.
struct StandInStatistics: Sendable {
  var requests: [APIRoute: [Int: Int]] = [:]
  var received = 0
  var accepted = 0
  var stored = 0
  var duplicates = 0
  var clamped = 0
  var rejected: [RejectionCode: Int] = [:]
  var identifyCalls = 0
  var links = 0
  var rateLimited: [RateLimits.Scope: Int] = [:]
  var quotaRefused = 0
  var forcedFailures = 0

  mutating func count(_ status: Int, _ route: APIRoute) { requests[route, default: [:]][status, default: 0] += 1 }

  mutating func count(_ decision: Account.Decision, total: Int) {
    received += total
    accepted += decision.stored.count + decision.duplicates
    stored += decision.stored.count
    duplicates += decision.duplicates
    clamped += decision.clamped.count
    for rejection in decision.rejected { rejected[rejection.code, default: 0] += 1 }
  }

  mutating func count(_ refusal: Account.Refusal) {
    switch refusal {
    case .rateLimited(let refusal): rateLimited[refusal.scope, default: 0] += 1
    case .quotaExceeded: quotaRefused += 1
    case .tooManyKeys: break
    }
  }
}
