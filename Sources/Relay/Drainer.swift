import Ingest
import JSON
import Observability

/// Empties a relay that is to go away: takes no more events in, and sends what waits.
///
/// A restart ends it: a relay that starts takes events in.
final class Drainer: Sendable {
  /// How it stands.
  struct Progress: Sendable, Equatable {
    var isDraining: Bool
    /// Requests let in before that aren't answered yet.
    var requests: Int
    /// What each destination is owed.
    var pending: [(name: String, events: Int)]

    var isDone: Bool { requests == 0 && pending.allSatisfy { $0.events == 0 } }

    static func == (one: Progress, other: Progress) -> Bool { one.json == other.json }

    var json: JSONValue {
      [
        "draining": .bool(isDraining), "pending": JSONValue(pending.reduce(0) { $0 + $1.events }),
        "requests": JSONValue(requests),
        "destinations": .object(pending.map { .init($0.name, JSONValue($0.events)) }),
      ]
    }
  }

  private static let lookInterval: Duration = .milliseconds(20)

  private let gate: IngestGate
  private let destinations: Destinations
  private let audit: AuditTrail
  private let logger: Logger

  init(_ gate: IngestGate, _ destinations: Destinations, _ audit: AuditTrail, _ logger: Logger) {
    self.gate = gate
    self.destinations = destinations
    self.audit = audit
    self.logger = logger
  }

  var isDraining: Bool { gate.isClosed }

  /// Closes the door, if it isn't closed yet, and sends until nothing waits or the time is up.
  /// - Throws: when the audit line can't be written: then nothing changes.
  func drain(for timeout: Duration, by actor: String) async throws(RelayError) -> Progress {
    let deadline = ContinuousClock.now + timeout
    if !gate.isClosed {
      try audit.record("drain", by: actor)
      if gate.close() { logger.warning("drains: no more events are taken in, and what waits is sent") }
    }
    // What was let in before is owed too, once it is stored.
    while gate.requests > 0, .now < deadline { try? await Task.sleep(for: Self.lookInterval) }
    await destinations.flushAll(until: deadline)
    // (One that can't send now, a removed sink for one, doesn't wait for the deadline by itself.)
    while !progress.isDone, .now < deadline {
      try? await Task.sleep(for: Self.lookInterval)
      await destinations.flushAll(until: deadline)
    }
    return progress
  }

  /// Opens the door again.
  /// - Throws: when the audit line can't be written: then nothing changes.
  func stop(by actor: String) throws(RelayError) -> Progress {
    if gate.isClosed {
      try audit.record("drain_stop", by: actor)
      if gate.open() { logger.warning("drains no more: events are taken in again") }
    }
    return progress
  }

  private var progress: Progress {
    // First the requests: one that ends in between is owed already when the destinations are asked.
    let requests = gate.requests
    return Progress(
      isDraining: gate.isClosed, requests: requests,
      pending: destinations.statuses.map { ($0.name, $0.pending.events) })
  }
}
