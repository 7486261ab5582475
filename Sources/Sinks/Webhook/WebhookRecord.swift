import Clocks
import EventLog
import JSON
import Records

/// What a webhook commits with its position, in one atomic write: the batch at the front, how its sending goes, and how far
/// its dead letters belong to the position.
///
/// `{"version":1,"batch":{"first":1,"last":100,"count":98,"replayed":false,"at_ms":1792757071512},
/// "plan":{"through":2100,"max_events":100,"at_ms":1792757071512},"trying":{…},"dead_letters":{…}}`
struct WebhookRecord: Sendable, Equatable {
  static let version = 1
  /// No wait is longer, whatever the record says.
  private static let waitMax: Int64 = 7 * 86_400_000

  /// Which events were put together to one request, where the plan doesn't say it. On record before the request first goes out, so that whoever reads
  /// them again after a crash makes the same bytes of them, and the same id.
  struct Batch: Sendable, Equatable {
    var first, last: UInt64
    /// How many there are between; the others were not wanted.
    var count: Int
    /// They are sent again: their numbers are those of the replay's lane.
    var isReplayed = false
    /// When they were put together: `timestamp` in the body.
    var at: Timestamp
  }

  /// Attempts that were not delivered.
  struct Trying: Sendable, Equatable {
    var failures, attempts: Int
    /// How long the batch had been tried at the moment `at`.
    var tried: Duration
    var at: Timestamp
    var retryAt: Timestamp?
    /// The whole wait.
    var wait: Duration
    var state: DestinationStatus.State
    var detail: String
  }

  var batch: Batch?
  /// How what comes after it is put together.
  var plan: WebhookPlan?
  var trying: Trying?
  var deadLetters: FileMark?

  init() {}

  var json: JSONValue {
    [
      "version": JSONValue(Self.version), "batch": batch.map(Self.json(of:)) ?? .null,
      "plan": plan?.json ?? .null, "trying": trying.map(Self.json(of:)) ?? .null,
      "dead_letters": deadLetters?.json ?? .null,
    ]
  }

  /// Reads an attachment; none is a sink's beginning. What is missing or of another form is left out: a batch that is no
  /// longer known is sent under another id, a damaged wait costs one early try.
  ///
  /// - Throws: a sentence, when a newer program wrote it.
  init(_ json: JSONValue?) throws(WebhookRecordError) {
    guard let json, !json.isNull else { return }
    let version = json["version"]?.integer(as: Int.self) ?? Self.version
    guard version <= Self.version else {
      throw WebhookRecordError(
        description: "the sink's record has version \(version), and this program reads up to \(Self.version): "
          + "run the program that wrote it, or a newer one")
    }
    batch = json["batch"].flatMap(Self.batch)
    plan = json["plan"].flatMap { WebhookPlan($0) }
    trying = json["trying"].flatMap(Self.trying)
    deadLetters = json["dead_letters"].flatMap { FileMark($0) }
  }

  private static func json(of batch: Batch) -> JSONValue {
    [
      "first": JSONValue(batch.first), "last": JSONValue(batch.last), "count": JSONValue(batch.count),
      "replayed": .bool(batch.isReplayed),
      "at_ms": JSONValue(batch.at.milliseconds),
    ]
  }

  private static func batch(_ json: JSONValue) -> Batch? {
    guard let first = json["first"]?.integer(as: UInt64.self), let last = json["last"]?.integer(as: UInt64.self),
      first <= last, let count = json["count"]?.integer(as: Int.self), count > 0,
      let at = json["at_ms"]?.integer(as: Int64.self)
    else { return nil }
    return Batch(
      first: first, last: last, count: count, isReplayed: json["replayed"]?.bool ?? false,
      at: Timestamp(milliseconds: at))
  }

  private static func json(of trying: Trying) -> JSONValue {
    [
      "failures": JSONValue(trying.failures), "attempts": JSONValue(trying.attempts),
      "tried_ms": JSONValue(trying.tried.milliseconds), "at_ms": JSONValue(trying.at.milliseconds),
      "retry_at_ms": trying.retryAt.map { JSONValue($0.milliseconds) } ?? .null,
      "wait_ms": JSONValue(trying.wait.milliseconds), "state": .string(trying.state.rawValue),
      "detail": .string(trying.detail),
    ]
  }

  private static func trying(_ json: JSONValue) -> Trying? {
    func count(_ key: String) -> Int? { json[key]?.integer(as: Int.self).flatMap { $0 >= 0 ? $0 : nil } }
    guard let failures = count("failures"), let attempts = count("attempts"), let tried = count("tried_ms"),
      let at = json["at_ms"]?.integer(as: Int64.self), let wait = count("wait_ms"), wait <= waitMax
    else { return nil }
    return Trying(
      failures: failures, attempts: attempts, tried: .milliseconds(tried), at: Timestamp(milliseconds: at),
      retryAt: json["retry_at_ms"]?.integer(as: Int64.self).map(Timestamp.init(milliseconds:)),
      wait: .milliseconds(wait), state: json["state"]?.string.flatMap(DestinationStatus.State.init) ?? .waiting,
      detail: json["detail"]?.string ?? "")
  }
}

struct WebhookRecordError: Error, CustomStringConvertible {
  let description: String
}
