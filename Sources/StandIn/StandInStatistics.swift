import Dialects
import EventLog
import JSON

/// What happened since the start by one protocol, for `GET /stats`.
struct StandInStatistics: Sendable {
  /// By path and status.
  var requests: [String: [Int: Int]] = [:]
  var received = 0
  var accepted = 0
  var stored = 0
  var duplicates = 0
  var clamped = 0
  var rejected: [String: Int] = [:]
  var identifyCalls = 0
  var links = 0
  var rateLimited: [RateLimits.Scope: Int] = [:]
  var quotaRefused = 0
  var forcedFailures = 0

  mutating func count(_ status: Int, _ path: String) { requests[path, default: [:]][status, default: 0] += 1 }

  /// Counts a request whose events were stored, as far as they were to be.
  mutating func count(_ decision: Account.Decision, _ reader: any IncomingReader) {
    guard reader.kind == .event else {
      identifyCalls += reader.accepted.count
      links += decision.stored.count
      return
    }
    let codes = reader.rejectedCodes
    received += decision.stored.count + decision.duplicates + codes.count
    accepted += decision.stored.count + decision.duplicates
    stored += decision.stored.count
    duplicates += decision.duplicates
    clamped += reader.clampedCount
    for code in codes { rejected[code, default: 0] += 1 }
  }

  mutating func count(_ refusal: Account.Refusal) {
    switch refusal {
    case .rateLimited(let refusal): rateLimited[refusal.scope, default: 0] += 1
    case .quotaExceeded: quotaRefused += 1
    }
  }

  static func + (one: StandInStatistics, other: StandInStatistics) -> StandInStatistics {
    var sum = one
    sum.requests.merge(other.requests) { $0.merging($1, uniquingKeysWith: +) }
    sum.received += other.received
    sum.accepted += other.accepted
    sum.stored += other.stored
    sum.duplicates += other.duplicates
    sum.clamped += other.clamped
    sum.rejected.merge(other.rejected, uniquingKeysWith: +)
    sum.identifyCalls += other.identifyCalls
    sum.links += other.links
    sum.rateLimited.merge(other.rateLimited, uniquingKeysWith: +)
    sum.quotaRefused += other.quotaRefused
    sum.forcedFailures += other.forcedFailures
    return sum
  }

  /// `requests`, `events`, `identify`, `rate_limited`, `forced_failures`.
  ///
  /// - Parameter dialects: whose routes and codes are listed, those with nothing to count too.
  func members(of dialects: [any Dialect]) -> [JSONValue.Member] {
    let paths = dialects.flatMap(\.incoming.routes).map(\.path)
    let codes = dialects.flatMap(\.incoming.rejectionCodes)
    return [
      .init("requests", .object(paths.map { .init(Self.name(of: $0), byStatus($0)) })),
      .init(
        "events",
        [
          "received": JSONValue(received), "accepted": JSONValue(accepted), "stored": JSONValue(stored),
          "duplicates": JSONValue(duplicates), "clamped": JSONValue(clamped),
          "rejected": .object(codes.map { .init($0, JSONValue(rejected[$0] ?? 0)) }),
        ]),
      .init("identify", ["calls": JSONValue(identifyCalls), "links": JSONValue(links)]),
      .init(
        "rate_limited",
        .object(RateLimits.Scope.allCases.map { .init($0.rawValue, JSONValue(rateLimited[$0] ?? 0)) })),
      .init("forced_failures", JSONValue(forcedFailures)),
    ]
  }

  private func byStatus(_ path: String) -> JSONValue {
    .object((requests[path] ?? [:]).sorted { $0.key < $1.key }.map { .init("\($0.key)", JSONValue($0.value)) })
  }

  /// What a path is called: its last part, as in `events` for `/v1/events`.
  private static func name(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }
}
