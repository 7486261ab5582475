import Clocks
import EventLog
import JSON
import Records

/// What the upstream's destination keeps with its position, in one atomic write: the subscription's attachment.
struct UpstreamRecord: Sendable, Equatable {
  /// Written when apps have upstreams of their own, of which older programs know nothing; else a record has version 1.
  static let version = 2

  /// A lane that failed and hasn't succeeded since.
  struct LaneRecord: Sendable, Equatable {
    var app: String
    /// It is the lane of the app's events that are sent again.
    var isReplayed = false
    /// The upstream asked for the wait.
    var isAsked = false
    var retryAt: Timestamp
    /// The whole wait.
    var wait: Duration
    /// Failed tries in a row: how far the doubling has come.
    var failures: Int
    /// Those of them that were 429s.
    var rateLimited = 0
    /// How often the oldest events were sent.
    var attempts: Int
    /// And how often of that without an answer.
    var unanswered = 0
    /// How many events that is about; nil on older records.
    var tried: Int?
    var state: DestinationStatus.State
    var detail: String
    /// Refusals of the key in a row, what was refused, and which key: its fingerprint.
    var refusals = 0
    var refused: RefusalBreaker.Cause?
    var refusedKey: String?
  }

  /// How much of a key's limits is used: what must be known after a crash.
  struct KeyRecord: Sendable, Equatable {
    /// The key's fingerprint.
    var key: String
    /// Events that count, and those that may have been sent since.
    var used: Int
    /// Installs that may have used their limit up, by their hashes.
    var installs: [UInt64]
  }

  /// The upstream that the waiting events were accepted for; user and password left out.
  var url: String?
  /// Of apps with an upstream of their own, or events that wait for one: which upstream the waiting events were accepted
  /// for, by protocols' names. Of all others it is `url`.
  var apps: [String: [String: String]] = [:]
  /// The instance that accepted them.
  var relay: String?
  var lanes: [LaneRecord] = []
  var keys: [KeyRecord] = []
  var pauses: [PauseRecord] = []
  var tried: [TriedRecord] = []
  /// When it was written at the end of a life that ended in order: nothing was sent since. Nil while one goes on.
  var endedAt: Timestamp?
  /// How far the dead letters belong to the position.
  var deadLetters: FileMark?

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init("version", JSONValue(apps.isEmpty ? 1 : Self.version)),
      .init("url", JSONValue(url)),
      .init("relay", JSONValue(relay)),
      .init("dead_letters", deadLetters?.json ?? .null),
      .init("lanes", .array(lanes.map(Self.json(of:)))),
      .init("keys", .array(keys.map(Self.json(of:)))),
      .init("ended_at_ms", endedAt.map { JSONValue($0.milliseconds) } ?? .null),
    ]
    if !pauses.isEmpty { members.append(.init("pauses", .array(pauses.map(\.json)))) }
    if !tried.isEmpty { members.append(.init("tried", .array(tried.map(\.json)))) }
    if !apps.isEmpty { members.append(.init("apps", Self.json(of: apps))) }
    return .object(members)
  }

  private static func json(of apps: [String: [String: String]]) -> JSONValue {
    .object(
      apps.sorted { $0.key < $1.key }.map { app, urls in
        JSONValue.Member(
          app, .object(urls.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }))
      })
  }

  private static func json(of key: KeyRecord) -> JSONValue {
    [
      "key": .string(key.key), "used": JSONValue(key.used),
      "installs": .array(key.installs.map { .string(String($0, radix: 16)) }),
    ]
  }

  private static func json(of lane: LaneRecord) -> JSONValue {
    [
      "app": .string(lane.app), "replayed": .bool(lane.isReplayed), "asked": .bool(lane.isAsked),
      "retry_at": .string(lane.retryAt.description),
      "retry_at_ms": JSONValue(lane.retryAt.milliseconds), "wait_ms": JSONValue(lane.wait.milliseconds),
      "failures": JSONValue(lane.failures), "rate_limited": JSONValue(lane.rateLimited),
      "attempts": JSONValue(lane.attempts), "unanswered": JSONValue(lane.unanswered),
      "tried": lane.tried.map { JSONValue($0) } ?? .null,
      "state": .string(lane.state.rawValue), "detail": .string(lane.detail),
      "refusals": JSONValue(lane.refusals), "refused": JSONValue(lane.refused?.rawValue),
      "refused_key": JSONValue(lane.refusedKey),
    ]
  }

  init(url: String? = nil, relay: String? = nil) {
    self.url = url
    self.relay = relay
  }

  /// Reads an attachment; what is missing or of another form is left out, so that a damaged wait costs one early try.
  ///
  /// - Throws: a sentence, when a newer program wrote it.
  init(_ json: JSONValue?) throws(UpstreamRecordError) {
    guard let json else { return }
    let version = json["version"]?.integer(as: Int.self) ?? Self.version
    guard version <= Self.version else {
      throw UpstreamRecordError(
        description: "the record of destination upstream has version \(version); this program knows \(Self.version): "
          + "run the newer program, or restore the data directory it had")
    }
    url = json["url"]?.string
    relay = json["relay"]?.string
    for app in Self.members(json["apps"]) {
      let urls = Self.members(app.value).compactMap { entry in entry.value.string.map { (entry.key, $0) } }
      if !urls.isEmpty { apps[app.key] = Dictionary(urls) { _, last in last } }
    }
    deadLetters = json["dead_letters"].flatMap { FileMark($0) }
    endedAt = json["ended_at_ms"]?.integer(as: Int64.self).map { Timestamp(milliseconds: $0) }
    keys = (json["keys"]?.array ?? []).compactMap { key in
      guard let name = key["key"]?.string, let used = key["used"]?.integer(as: Int.self), used >= 0 else { return nil }
      return KeyRecord(
        key: name, used: used,
        installs: (key["installs"]?.array ?? []).compactMap { $0.string.flatMap { UInt64($0, radix: 16) } })
    }
    pauses = (json["pauses"]?.array ?? []).compactMap { PauseRecord($0) }
    tried = (json["tried"]?.array ?? []).compactMap { TriedRecord($0) }
    lanes = (json["lanes"]?.array ?? []).compactMap { lane in
      guard let app = lane["app"]?.string, let retryAt = lane["retry_at_ms"]?.integer(as: Int64.self),
        let wait = lane["wait_ms"]?.integer(as: Int64.self), wait >= 0, wait <= Self.waitMillisecondsMax,
        let failures = lane["failures"]?.integer(as: Int.self), failures >= 0
      else { return nil }
      return LaneRecord(
        app: app, isReplayed: lane["replayed"]?.bool ?? false, isAsked: lane["asked"]?.bool ?? false,
        retryAt: Timestamp(milliseconds: retryAt), wait: .milliseconds(wait), failures: failures,
        rateLimited: max(0, lane["rate_limited"]?.integer(as: Int.self) ?? 0),
        attempts: max(0, lane["attempts"]?.integer(as: Int.self) ?? 0),
        unanswered: max(0, lane["unanswered"]?.integer(as: Int.self) ?? 0),
        tried: lane["tried"]?.integer(as: Int.self).map { max(1, $0) },
        state: lane["state"]?.string.flatMap(DestinationStatus.State.init(rawValue:)) ?? .waiting,
        detail: lane["detail"]?.string ?? "", refusals: max(0, lane["refusals"]?.integer(as: Int.self) ?? 0),
        refused: lane["refused"]?.string.flatMap(RefusalBreaker.Cause.init(rawValue:)),
        refusedKey: lane["refused_key"]?.string)
    }
  }

  private static func members(_ json: JSONValue?) -> [JSONValue.Member] {
    if case .object(let members)? = json { members } else { [] }
  }

  /// No wait is longer, whatever the record says.
  static let waitMillisecondsMax: Int64 = 86_400_000
}

struct UpstreamRecordError: Error, CustomStringConvertible {
  var description: String
}
