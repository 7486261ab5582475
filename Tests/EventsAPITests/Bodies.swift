import Clocks

@testable import EventsAPI

/// The moment the tests' bodies are received at: 2026-10-23T12:05:00Z.
let receivedAt = Timestamp(milliseconds: Timestamp.days(year: 2026, month: 10, day: 23) * 86_400_000 + 43_500_000)

/// Gives a body as the readers want it, in memory of exactly the body's and the padding's size, the padding full of what would
/// be read for JSON if somebody looked there.
func withPadded<Result>(_ bytes: [UInt8], _ use: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
  let padding = Array(#"}]}"":,[{}]1e5true\n"#.utf8)
  var padded = bytes
  while padded.count < bytes.count + 64 { padded.append(padding[(padded.count - bytes.count) % padding.count]) }
  return try padded.withUnsafeBytes { try use(UnsafeRawBufferPointer(rebasing: $0[..<bytes.count])) }
}

/// What a body comes to.
struct Reading {
  var error: APIError?
  var accepted: [AcceptedEvent] = []
  var rejected: [Rejection] = []
  var clamped: [ClampedEvent] = []
  /// The accepted events' bytes.
  var texts: [String] = []

  var codes: [RejectionCode] { rejected.map(\.code) }
}

func read(_ body: [UInt8], judgesTime: Bool = true) -> Reading {
  let reader = EventsReader()
  return withPadded(body) { bytes in
    let error = reader.readBatch(bytes, receivedAt: receivedAt, judgesTime: judgesTime)
    return Reading(
      error: error, accepted: reader.accepted, rejected: reader.rejected, clamped: reader.clamped,
      texts: reader.accepted.map { String(decoding: $0.bytes(in: bytes), as: UTF8.self) })
  }
}

func read(_ body: String, judgesTime: Bool = true) -> Reading { read(Array(body.utf8), judgesTime: judgesTime) }

/// Reads a batch of these events.
func read(events: [String]) -> Reading { read("{\"events\":[\(events.joined(separator: ","))]}") }

/// An event's members as JSON texts, to be changed one by one.
struct EventText {
  var members: [(key: String, value: String)] = [
    ("event_id", #""0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10""#),
    ("name", #""purchase_completed""#),
    ("anonymous_id", #""C5E1B0B2-4F7A-4E0F-9C1D-2A6B7E8F9012""#),
    ("user_id", #""u_81723""#),
    ("occurred_at", #""2026-10-23T12:04:31.512Z""#),
    ("properties", #"{"product_id":"pro_yearly","price":39.99,"currency":"USD","trial":true}"#),
    ("context", #"{"app_version":"2.4.0","environment":"app_store"}"#),
  ]

  /// The event with another value for a member, or without the member.
  func with(_ key: String, _ value: String?) -> EventText {
    var changed = self
    if let value, let at = members.firstIndex(where: { $0.key == key }) {
      changed.members[at].value = value
    } else if let value {
      changed.members.append((key, value))
    } else {
      changed.members.removeAll { $0.key == key }
    }
    return changed
  }

  var text: String { "{" + members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}" }
}

extension EventText {
  /// The verdict on the event alone: nil when it is accepted.
  var rejection: Rejection? {
    let reading = read(events: [text])
    return reading.rejected.first
  }

  var code: RejectionCode? { rejection?.code }
}
