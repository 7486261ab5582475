import Clocks
import EventLog
import JSON

/// A replay as it is kept on disk: what was asked for, and how far it has come. `jobs/ID.json` beside the queue.
struct ReplayRecord: Sendable, Equatable {
  static let format = "event-relay-replay"
  static let version = 1

  var request: ReplayRequest
  var state = ReplayState.counting
  /// How many events are meant; nil before they were counted.
  var matched: Int?
  /// How many of them the upstream would clamp.
  var clamped = 0
  /// Lines that hold no event that can be sent.
  var unreadable = 0
  /// Events that are in the queue, or have been.
  var sent = 0
  /// Everything up to there is done with.
  var after: ReplayPlace?
  var begun: Timestamp
  /// The number after the log's last event when it was begun.
  var logEnd: UInt64
  /// What the destination was owed then, and gets by itself.
  var owed: OwedEvents?
  var error: String?

  init(_ request: ReplayRequest, begun: Timestamp, logEnd: UInt64, owed: OwedEvents?) {
    self.request = request
    self.begun = begun
    self.logEnd = logEnd
    self.owed = owed
  }

  /// What is noted with a put, for the next start.
  func note(_ places: ReplayPlaces) -> JSONValue {
    ["job": .string(request.id), "sent_before": JSONValue(sent), "places": places.json]
  }

  /// Takes notice of a put: so many of the events at those places are in the queue. Doing it again changes nothing.
  mutating func take(_ put: ReplayPut) {
    sent = put.sentBefore + put.stored.count
    if let last = put.stored.last { after = last }
  }

  /// Makes ready to go on, or to begin anew when it is done with.
  mutating func resume(_ other: ReplayRequest) {
    request.rate = other.rate
    error = nil
    state = matched == nil ? .counting : .sending
  }

  var json: JSONValue {
    .object([
      .init("format", .string(Self.format)), .init("version", JSONValue(Self.version)), .init("request", request.json),
      .init("state", .string(state.rawValue)), .init("matched", matched.map { JSONValue($0) } ?? .null),
      .init("clamped", JSONValue(clamped)), .init("unreadable", JSONValue(unreadable)), .init("sent", JSONValue(sent)),
      .init("after", after?.json ?? .null), .init("begun", JSONValue(begun.milliseconds)),
      .init("log_end", JSONValue(logEnd)), .init("owed", owed?.json ?? .null), .init("error", JSONValue(error)),
    ])
  }

  /// Nil when the value is none, or of a newer version.
  init?(_ json: JSONValue) {
    guard json["format"]?.string == Self.format, json["version"]?.integer() == Self.version,
      let request = json["request"].flatMap(ReplayRequest.init),
      let state = json["state"]?.string.flatMap(ReplayState.init), let begun = json["begun"]?.integer(as: Int64.self),
      let logEnd: UInt64 = json["log_end"]?.integer(), let sent: Int = json["sent"]?.integer()
    else { return nil }
    self.request = request
    self.state = state
    self.begun = Timestamp(milliseconds: begun)
    self.logEnd = logEnd
    self.sent = sent
    matched = json["matched"]?.integer()
    clamped = json["clamped"]?.integer() ?? 0
    unreadable = json["unreadable"]?.integer() ?? 0
    after = json["after"].flatMap(ReplayPlace.init)
    if let owed = json["owed"], !owed.isNull {
      guard let read = OwedEvents(owed, destination: request.destination) else { return nil }
      self.owed = read
    }
    error = json["error"]?.string
  }
}

/// What one put has brought into a queue.
struct ReplayPut: Sendable, Equatable {
  var job: String
  /// Events of the job that were in before it.
  var sentBefore: Int
  /// Where those lie that are in now.
  var stored: ReplayPlaces

  /// From what was noted with it, and how many of its events are in; nil when the note is none of ours.
  init?(_ note: JSONValue, stored: Int) {
    guard let job = note["job"]?.string, let before: Int = note["sent_before"]?.integer(),
      let places = note["places"].flatMap(ReplayPlaces.init)
    else { return nil }
    self.job = job
    sentBefore = before
    self.stored = places.prefix(stored)
  }
}

/// How a replay is, in users' words.
public enum ReplayState: String, Sendable {
  /// Finds out how many events are meant.
  case counting
  /// Puts them into the destination's queue.
  case sending
  /// All of them are there, or were.
  case done
  /// Somebody stopped it, or the relay was: asked for again, it goes on.
  case stopped
  /// Something is in the way; asked for again, it goes on.
  case failed

  public var isOver: Bool {
    switch self {
    case .counting, .sending: false
    case .done, .stopped, .failed: true
    }
  }
}
