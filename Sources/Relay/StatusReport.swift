import Clocks
import DeadLetters
import EventLog
import JSON

/// What `GET /status` says, as one JSON object.
enum StatusReport {
  struct Facts {
    var version: String
    var relay: String
    var uptime: Duration
    var now: Timestamp
    var ingestAddresses: [String]
    /// No more events are taken in.
    var isDraining = false
    var adminAddress: String
    /// What the listeners speak TLS with; nil: plain HTTP.
    var ingestTLS: JSONValue?
    var adminTLS: JSONValue?
    var standInAddress: String?
    var health: LogHealth
    var log: LogStatistics
    var destinations: [DestinationStatus]
    /// Of each destination, the dead letters that went without being sent.
    var removedLetters: [String: [DeadLetterRemoval: Int]] = [:]
    /// Bytes of the log that each destination keeps from being freed.
    var heldBytes: [String: Int] = [:]
    /// What deny lists have kept out; nil when that can't be read.
    var suppressed: SuppressionCounts?
    /// Events that sinks were owed whose place was given up, and the last books of these.
    var givenUp: (events: UInt64, books: [JSONValue]) = (0, [])
    /// When the first event that waits for the upstream is clamped if nothing moves.
    var clampingBeginsAt: Timestamp?
  }

  static func json(_ facts: Facts) -> JSONValue {
    var members: [JSONValue.Member] = [
      .init("version", .string(facts.version)),
      .init("relay", .string(facts.relay)),
      .init("uptime_seconds", JSONValue(facts.uptime.seconds)),
      .init(
        "ingest",
        .object(
          [
            .init("listen", .array(facts.ingestAddresses.map(JSONValue.string))),
            .init("draining", .bool(facts.isDraining)),
          ] + (facts.ingestTLS.map { [.init("tls", $0)] } ?? []))),
      .init(
        "admin",
        .object(
          [.init("listen", .string(facts.adminAddress))] + (facts.adminTLS.map { [.init("tls", $0)] } ?? []))),
    ]
    if let standIn = facts.standInAddress { members.append(.init("stand_in", ["listen": .string(standIn)])) }
    members.append(.init("log", log(facts)))
    members.append(.init("destinations", .array(facts.destinations.map { destination($0, facts) })))
    members.append(
      .init(
        "ledger",
        .object(
          [.init("accepted", JSONValue(facts.log.acceptedEvents))]
            + (facts.suppressed.map { [.init("suppressed", $0.json)] } ?? [])
            + facts.destinations.map { .init($0.name, ledger($0.ledger, facts.removedLetters[$0.name])) })))
    members.append(
      .init(
        "removed_sinks",
        ["dropped_events": JSONValue(facts.givenUp.events), "given_up": .array(facts.givenUp.books)]))
    return .object(members)
  }

  private static func log(_ facts: Facts) -> JSONValue {
    let log = facts.log
    let (health, detail): (String, String?) =
      switch facts.health {
      case .ok: ("ok", nil)
      case .full: ("full", "log.max_size is reached")
      case .diskFull(let detail): ("disk_full", detail)
      case .failed(let detail): ("failed", detail)
      case .closed: ("closed", nil)
      }
    return [
      "health": .string(health), "detail": JSONValue(detail), "bytes": JSONValue(log.sizeBytes),
      "retained_bytes": JSONValue(log.retainedBytes), "max_bytes": JSONValue(log.maxSizeBytes),
      "segments": JSONValue(log.segments),
      "spare_segments": JSONValue(log.spareSegments),
      "oldest": JSONValue(log.oldestReceivedAt?.description),
      "positions": ["oldest": JSONValue(log.oldestSequence), "next": JSONValue(log.nextSequence)],
      "dropped_events": JSONValue(log.droppedEvents), "corrupt_records": JSONValue(log.corruptRecords),
    ]
  }

  private static func destination(_ status: DestinationStatus, _ facts: Facts) -> JSONValue {
    var members: JSONValue = [
      "name": .string(status.name), "type": .string(status.type), "state": .string(status.state.rawValue),
      "detail": JSONValue(status.detail), "pending": JSONValue(status.pending.events),
      "oldest_pending_seconds": JSONValue(
        status.pending.oldestReceivedAt.map { max(0, (facts.now - $0).seconds) } ?? 0),
      "retry_at": JSONValue(status.retryAt?.description), "last_error": JSONValue(status.lastError),
      "held_bytes": JSONValue(facts.heldBytes[status.name] ?? 0),
      "ledger": ledger(status.ledger, facts.removedLetters[status.name]),
      "lanes": .array(
        status.lanes.map { lane in
          [
            "app": .string(lane.app), "replayed": .bool(lane.isReplayed), "state": .string(lane.state.rawValue),
            "detail": JSONValue(lane.detail),
            "pending": JSONValue(lane.pending), "retry_at": JSONValue(lane.retryAt?.description),
            "events_per_second": JSONValue(lane.rate, digits: 1),
            "parked_installs": JSONValue(lane.parkedInstalls),
            "drains_in_seconds": JSONValue(lane.drainsIn?.seconds),
          ]
        }),
    ]
    if status.type == "upstream", case .object(let list) = members {
      members = .object(list + [.init("clamping_begins_at", JSONValue(facts.clampingBeginsAt?.description))])
    }
    return members
  }

  /// One destination's books: `accepted` and `replayed` together are the sum of all the others, but for
  /// `dead_letters_replayed`, which went from `dead_lettered` back to `waiting`, and `dead_letters_removed`, which are in
  /// `dead_lettered` and lie in the files no longer.
  static func ledger(_ ledger: Ledger, _ removed: [DeadLetterRemoval: Int]? = nil) -> JSONValue {
    var deadLettered: [JSONValue.Member] = []
    for reason in Outcome.allCases where reason.isDeadLetter && ledger.deadLettered(reason) > 0 {
      deadLettered.append(.init(reason.rawValue, JSONValue(ledger.deadLettered(reason))))
    }
    return [
      "accepted": JSONValue(ledger.accepted), "replayed": JSONValue(ledger.sentAgain),
      "delivered": JSONValue(ledger.settled[.delivered]),
      "waiting": JSONValue(ledger.waiting), "dead_lettered": JSONValue(ledger.deadLettered),
      "dead_letter_reasons": .object(deadLettered), "filtered": JSONValue(ledger.settled[.filtered]),
      "dropped": JSONValue(ledger.dropped),
      "dropped_reasons": [
        "log_full": JSONValue(ledger.settled[.droppedLogFull]), "behind": JSONValue(ledger.settled[.droppedBehind]),
        "removed": JSONValue(ledger.settled[.droppedRemoved]),
      ],
      "lost": JSONValue(ledger.settled[.lost]), "dead_letters_replayed": JSONValue(ledger.putBack.total),
      "dead_letters_removed": .object(
        DeadLetterRemoval.allCases.map { .init($0.rawValue, JSONValue(removed?[$0] ?? 0)) }),
    ]
  }
}
