import JSON

/// How a replay is, for whoever asks.
public struct ReplayStatus: Sendable, Equatable {
  public var id: String
  public var destination: String
  public var state: ReplayState
  public var isDryRun: Bool
  /// Events that are meant; while they are counted, those found by now.
  public var matched: Int
  /// How many of them are so old that the upstream will give them another `occurred_at`.
  public var clamped: Int
  /// Lines that hold no event that can be sent.
  public var unreadable: Int
  /// Events that are in the destination's queue, or have been sent from there.
  public var sent: Int
  /// How many had been before this time.
  public var sentBefore: Int
  /// Events that wait in the queue.
  public var waiting: Int
  public var error: String?

  public var json: JSONValue {
    [
      "id": .string(id), "to": .string(destination), "state": .string(state.rawValue), "dry_run": .bool(isDryRun),
      "matched": JSONValue(matched), "clamped": JSONValue(clamped), "unreadable": JSONValue(unreadable),
      "sent": JSONValue(sent), "sent_before": JSONValue(sentBefore), "waiting": JSONValue(waiting),
      "error": JSONValue(error),
    ]
  }
}
