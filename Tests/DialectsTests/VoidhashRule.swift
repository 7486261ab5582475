import Testing

/// A way to break the protocol's rules, and what a sender is told.
struct VoidhashRule: Sendable, CustomTestStringConvertible {
  var changed: [String: String]
  var says: String

  var testDescription: String { changed.map { "\($0.key): \($0.value.prefix(30))" }.joined() }

  private static let text = "a string of 1 to 256 characters"
  private static let time = "a moment in ISO 8601 with its time zone, such as 2026-11-30T06:17:17.895Z"
  private static func long(_ count: Int) -> String { "\"" + String(repeating: "é", count: count) + "\"" }

  static let broken: [VoidhashRule] = {
    var all: [VoidhashRule] = []
    for field in ["uuid", "event", "distinct_id"] {
      all.append(VoidhashRule(changed: [field: ""], says: "\(field) must be \(text); it is missing."))
      for value in ["7", "null", "true", "{}", "[]", "\"\"", long(257)] {
        all.append(VoidhashRule(changed: [field: value], says: "\(field) must be \(text)."))
      }
    }
    for field in ["properties", "context"] {
      all.append(VoidhashRule(changed: [field: ""], says: "\(field) must be a JSON object; it is missing."))
      for value in ["7", "null", "false", "[]", "\"{}\""] {
        all.append(VoidhashRule(changed: [field: value], says: "\(field) must be a JSON object."))
      }
    }
    for value in ["7", "true", "{}", "[\"s\"]", "\"\"", long(257)] {
      all.append(VoidhashRule(changed: ["session_id": value], says: "session_id must be \(text), or be left out."))
    }
    all.append(VoidhashRule(changed: ["timestamp": ""], says: "timestamp must be \(time); it is missing."))
    let noTimes = [
      "1764483437895", "null", "{}", "\"\"", "\"now\"", "\"2026-11-30\"", "\"2026-11-30T06:17:17\"",
      "\"2026-02-30T06:17:17Z\"", "\"2026-11-30T24:17:17Z\"", long(257),
    ]
    for value in noTimes {
      all.append(VoidhashRule(changed: ["timestamp": value], says: "timestamp must be \(time)."))
    }
    return all
  }()

  /// What keeps them, if only just.
  static let kept: [[String: String]] = [
    ["uuid": "\"x\"", "event": "\"$identify\"", "distinct_id": "\"0\""],
    ["uuid": long(256), "event": long(256), "distinct_id": long(256), "session_id": long(256)],
    ["uuid": #""\u0000""#, "event": "\" \"", "distinct_id": #""\ud800""#],
    ["session_id": ""], ["session_id": "null"], ["session_id": "\"x\""],
    ["properties": "{}", "context": #"{"any":[{"thing":1}]}"#],
    ["timestamp": #""2026-11-30T06:17:17.895+0000""#],
    ["timestamp": #""2026-11-30T06:17:60\u005a""#],
  ]
}
