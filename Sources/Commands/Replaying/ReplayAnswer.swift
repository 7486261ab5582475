import JSON

/// How one replay is, as the relay says.
struct ReplayAnswer: Sendable, Equatable {
  var id: String
  var destination: String
  var state: String
  var matched: Int
  var clamped: Int
  var unreadable: Int
  var sent: Int
  var sentBefore: Int
  var waiting: Int
  var error: String?

  /// Nil when the value is none.
  init?(_ json: JSONValue) {
    guard let id = json["id"]?.string, let destination = json["to"]?.string, let state = json["state"]?.string else {
      return nil
    }
    self.id = id
    self.destination = destination
    self.state = state
    func count(_ key: String) -> Int { json[key]?.integer() ?? 0 }
    matched = count("matched")
    clamped = count("clamped")
    unreadable = count("unreadable")
    sent = count("sent")
    sentBefore = count("sent_before")
    waiting = count("waiting")
    error = json["error"]?.string
  }

  var isOver: Bool { state == "done" || isHalted }
  /// It ended before its end.
  var isHalted: Bool { state == "stopped" || state == "failed" }

  /// Those of an answer: one, or a list of them.
  static func all(in answer: JSONValue) -> [ReplayAnswer] {
    (answer["replays"]?.array ?? [answer]).compactMap { ReplayAnswer($0) }
  }
}
