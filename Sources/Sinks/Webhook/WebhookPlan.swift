import Clocks
import JSON

/// How the batches that come next are cut, so that not each one's bounds must be on record before it is sent.
///
/// From the position on, each batch of new events has exactly `eventsMax` of them, none after `through`, and `timestamp` is
/// `at`. A full batch follows from where the one before ended: whoever reads on after a crash cuts the same batches, and
/// makes the same bytes and ids of them. A batch that is not full, or not full by its count, isn't by plan.
struct WebhookPlan: Sendable, Equatable {
  /// Full batches that a plan has room for, when every event is wanted. The more, the fewer commits.
  static let batches: UInt64 = 20
  /// Seconds that `timestamp` may be behind the clock.
  static let freshFor: Duration = .seconds(1)

  /// The last number that a batch by this plan may hold.
  var through: UInt64
  var eventsMax: Int
  /// When it was made.
  var at: Timestamp

  /// A plan for what comes after an event.
  init(after last: UInt64, eventsMax: Int, at: Timestamp) {
    through = last + Self.batches * UInt64(eventsMax)
    self.eventsMax = eventsMax
    self.at = at
  }

  /// Whether the batch is by this plan.
  func covers(_ range: ClosedRange<UInt64>, count: Int) -> Bool { count == eventsMax && range.upperBound <= through }

  func isFresh(at now: Timestamp) -> Bool { at <= now && now - at < Self.freshFor }
}

// On record.
extension WebhookPlan {
  /// No batch has more events, whatever the record says.
  private static let eventsMaxMax = 1000

  var json: JSONValue {
    ["through": JSONValue(through), "max_events": JSONValue(eventsMax), "at_ms": JSONValue(at.milliseconds)]
  }

  /// Nil when it has another form: batches by it are sent under other ids.
  init?(_ json: JSONValue) {
    guard let through = json["through"]?.integer(as: UInt64.self),
      let eventsMax = json["max_events"]?.integer(as: Int.self), (1...Self.eventsMaxMax).contains(eventsMax),
      let at = json["at_ms"]?.integer(as: Int64.self)
    else { return nil }
    self.through = through
    self.eventsMax = eventsMax
    self.at = Timestamp(milliseconds: at)
  }
}
