import Clocks
import EventLog
import EventsAPI
import TestSupport

@testable import Dialects

/// A request without a server.
struct SampleRequest: IncomingRequest {
  let method = "POST"
  let path: String
  let headers: [String: String]

  func header(_ name: StaticString) -> String? { headers["\(name)".lowercased()] }
}

/// What a reader made of a body.
struct VoidhashReading {
  var fault: APIError?
  var key: BodyKey
  var accepted: [AcceptedEvent]
  /// The accepted events' bytes, as they are stored.
  var texts: [String]
  var names: [String]
  var persons: [String]
  var users: [String?]
  var rejectedCodes: [String]
  /// Nil when the request is refused.
  var answer: String?

  init(
    _ text: String, route: IncomingRoute = IncomingVoidhash.batch, headers: [String: String] = [:],
    by reader: any IncomingReader = IncomingVoidhash().makeReader()
  ) {
    self.init(Array(text.utf8), route: route, headers: headers, by: reader)
  }

  init(
    _ bytes: [UInt8], route: IncomingRoute = IncomingVoidhash.batch, headers: [String: String] = [:],
    by reader: any IncomingReader = IncomingVoidhash().makeReader()
  ) {
    let body = Padded(bytes)
    let fault = reader.read(
      body.bytes, of: SampleRequest(path: route.path, headers: headers), route,
      receivedAt: Timestamp(milliseconds: 1_792_757_071_512), judgesTime: true)
    self.fault = fault
    key = reader.bodyKey
    accepted = reader.accepted
    let stored = reader.storedBody
    texts = accepted.map { String(decoding: $0.bytes(in: stored), as: UTF8.self) }
    names = accepted.map { $0.name(in: stored) }
    persons = accepted.map { $0.anonymousID(in: stored) }
    users = accepted.map { $0.userID(in: stored) }
    rejectedCodes = reader.rejectedCodes
    answer = fault == nil ? String(decoding: reader.answer().body, as: UTF8.self) : nil
  }
}

enum VoidhashSamples {
  static let captures = [
    "voidhash-swift-basic-000": 2, "voidhash-swift-batch25-000": 20, "voidhash-swift-batch25-001": 5,
  ]

  /// A captured request's body, byte for byte.
  static func body(ofCapture name: String) -> [UInt8] {
    let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    let request = readFile("/\(folder)/Captures/\(name).req") ?? []
    let blank = Array("\r\n\r\n".utf8)
    let end = request.indices.first { request[$0...].starts(with: blank) }
    return end.map { Array(request[($0 + blank.count)...]) } ?? []
  }

  /// An event that keeps the rules, with some members in other words or, with an empty text, left out.
  static func event(_ changed: [String: String] = [:]) -> String {
    let members = [
      ("uuid", #""00c0acf9-50f3-4809-a155-eb1c1e873a56""#), ("event", #""opened""#),
      ("distinct_id", #""vh:anon:k2j4h5g6f7""#), ("properties", #"{"n":39.990,"deep":[{"a":null}]}"#),
      ("context", "{}"),
      ("session_id", #""s""#), ("timestamp", #""2026-11-30T06:17:17.895Z""#),
    ]
    let said = members.map { ($0.0, changed[$0.0] ?? $0.1) }.filter { !$0.1.isEmpty }
    return "{" + said.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
  }

  static func batch(_ events: [String], more: String = #","sent_at":"2026-11-30T06:17:18Z","token":"vh_pk_1""#)
    -> String
  {
    #"{"events":[\#(events.joined(separator: ","))]\#(more)}"#
  }
}
