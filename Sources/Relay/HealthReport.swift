import EventLog
import JSON

/// One thing looked at, and whether it is as it should be.
struct HealthCheck: Sendable, Equatable {
  var name: String
  var isOK: Bool
  var detail: String
}

/// What `/livez`, `/readyz` and `/healthz` say: facts in, verdict out.
struct HealthReport: Sendable, Equatable {
  var isOK: Bool
  var checks: [HealthCheck]

  /// `{"status":…,"checks":[{"name","ok","detail"}]}`
  var body: [UInt8] {
    JSONValue.object([
      .init("status", .string(isOK ? "ok" : "failing")),
      .init(
        "checks",
        .array(
          checks.map {
            [
              "name": .string($0.name), "ok": .bool($0.isOK), "detail": .string($0.detail),
            ]
          })),
    ]).utf8
  }

  /// How long work may wait with nothing to explain it before the process counts as stuck.
  static let stuckAfter: Duration = .seconds(30)

  /// The process makes progress.
  static func live(
    log: LogStatistics, destinations: [DestinationStatus], now: ContinuousClock.Instant
  ) -> HealthReport {
    var checks: [HealthCheck] = []
    let waited = log.appendWaitingSince.map { now - $0 } ?? .zero
    let isWriting = waited < stuckAfter
    checks.append(
      HealthCheck(
        name: "log_writer", isOK: isWriting,
        detail: isWriting
          ? "writes" : "nothing was written for \(waited.components.seconds) s though events wait: look at the disk"))
    for destination in destinations {
      let stuck = destination.stuckSince.map { now - $0 } ?? .zero
      let moves = stuck < stuckAfter
      checks.append(
        HealthCheck(
          name: "progress:\(destination.name)", isOK: moves,
          detail: moves ? "moves" : "nothing was done for \(stuck.components.seconds) s though events wait"))
    }
    return HealthReport(isOK: checks.allSatisfy(\.isOK), checks: checks)
  }

  /// A batch posted now would be stored.
  ///
  /// - Parameter waitedFor: the destinations for which events wait, the one with the oldest first.
  static func ready(
    log: LogHealth, isAccepting: Bool, isDraining: Bool = false, waitedFor: [String] = []
  ) -> HealthReport {
    let (isOK, detail) =
      switch log {
      case .ok: (true, "takes events")
      case .full:
        (
          false,
          "full: `log.max_size` is reached; it empties as events are delivered"
            + (waitedFor.isEmpty ? "" : "; they wait for \(waitedFor.joined(separator: ", "))")
        )
      case .diskFull(let detail), .failed(let detail): (false, detail)
      case .closed: (false, "closed: the relay is stopping")
      }
    let checks = [
      HealthCheck(name: "log", isOK: isOK, detail: detail),
      HealthCheck(
        name: "ingest", isOK: isAccepting && !isDraining,
        detail: !isAccepting
          ? "takes no more requests: the relay is stopping"
          : isDraining ? "takes no more events: the relay is drained; event-relay drain --stop ends that" : "listens"),
    ]
    return HealthReport(isOK: checks.allSatisfy(\.isOK), checks: checks)
  }

  /// Everything together: what `/healthz` shows. Its status is that of `live`.
  static func whole(live: HealthReport, ready: HealthReport, destinations: [DestinationStatus]) -> HealthReport {
    let states = destinations.map { status in
      // A removed sink that holds nothing is nobody's worry.
      let isOK =
        [.running, .paced, .waiting].contains(status.state)
        || (status.type == RemovedSink.type && status.state == .stopped)
      return HealthCheck(
        name: status.name, isOK: isOK,
        detail: ([status.state.rawValue, status.detail].compactMap { $0 }).joined(separator: ": "))
    }
    return HealthReport(isOK: live.isOK, checks: live.checks + ready.checks + states)
  }
}
