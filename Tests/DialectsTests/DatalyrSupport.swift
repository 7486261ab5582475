import Clocks
import EventLog
import EventsAPI
import Foundation
import HTTPClient
import TestSupport
import Testing

@testable import Dialects

/// A request as one of the vendor's own SDKs sent it, byte for byte.
struct DatalyrCapture: Sendable, CustomTestStringConvertible {
  var name: String
  var path: String
  var headers: [String: String]
  var body: [UInt8]

  static let names =
    (0...7).map { "node-basic-00\($0)" } + ["rn-server-000"] + (0...4).map { "swift-basic-00\($0)" }
    + ["web-basic-000", "web-basic-001"]
  static let all = names.map { DatalyrCapture($0) }

  private init(_ name: String) {
    self.name = name
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let bytes = readFile(folder.appending(path: "Captures/datalyr-\(name).req").path(percentEncoded: false)) ?? []
    let head = bytes.firstRange(of: Array("\r\n\r\n".utf8)) ?? 0..<0
    let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    path = lines[0].components(separatedBy: " ").dropFirst().first ?? ""
    headers = [:]
    for line in lines.dropFirst() {
      let parts = line.components(separatedBy: ": ")
      headers[parts[0].lowercased()] = parts[1]
    }
    body = Array(bytes[head.upperBound...])
  }

  var testDescription: String { name }
  var text: String { String(decoding: body, as: UTF8.self) }
  var isWeb: Bool { path == "/" }
}

/// A request's head.
struct DatalyrRequest: IncomingRequest {
  var method = "POST"
  var path = "/track"
  var headers: [String: String] = [:]

  func header(_ name: StaticString) -> String? { headers["\(name)".lowercased()] }
}

/// Reads bodies, and has what was found where tests can look at it.
struct DatalyrHall {
  static let received = Timestamp(milliseconds: 1_792_757_071_512)  // 2026-10-23T12:04:31.512Z
  let reader = IncomingDatalyr().makeReader()

  /// What one body brought.
  struct Taken {
    var fault: APIError?
    var key = BodyKey.unknown
    var accepted: [AcceptedEvent] = []
    var events: [String] = []
    var envelope: [UInt8] = []

    var indexes: [EventIndex] { accepted.map { EventIndex($0, judgesTime: true) } }
  }

  func take(_ body: [UInt8], at path: String = "/track") -> Taken {
    let route = path == "/" ? IncomingDatalyr.web : IncomingDatalyr.track
    let padded = Padded(body)
    return padded.use { bytes in
      let fault = reader.read(
        bytes, of: DatalyrRequest(path: path), route, receivedAt: Self.received, judgesTime: true)
      return Taken(
        fault: fault, key: reader.bodyKey, accepted: reader.accepted,
        events: reader.accepted.map { String(decoding: $0.bytes(in: reader.storedBody), as: UTF8.self) },
        envelope: Array(reader.envelope))
    }
  }

  func take(_ body: String, at path: String = "/track") -> Taken { take(Array(body.utf8), at: path) }

  func record(_ event: String) -> AcceptedEvent? {
    Padded(event).use { reader.readRecord($0, kind: .event, receivedAt: Self.received) }
  }
}

/// Events as they are read from the log, and the requests that are made of them.
struct DatalyrShipment {
  let outgoing = OutgoingDatalyr()
  let batch = EventBatch(capacity: 64)

  /// - Parameter hasEnvelope: false: as events come from an archive.
  func add(_ taken: DatalyrHall.Taken, _ chosen: Range<Int>? = nil, hasEnvelope: Bool = true) {
    for place in chosen ?? taken.events.indices {
      let event = StoredEvent(
        sequence: UInt64(batch.events.count + 1), index: taken.indexes[place], kind: .event, dialect: 1,
        receivedAt: DatalyrHall.received, appIndex: 0, offset: 0)
      Array(taken.events[place].utf8).withUnsafeBytes { bytes in
        taken.envelope.withUnsafeBytes { envelope in
          batch.append(
            event, app: "app", bytes: bytes,
            envelope: UnsafeRawBufferPointer(rebasing: envelope[..<(hasEnvelope ? envelope.count : 0)]))
        }
      }
    }
  }

  /// The next request: of the batch's first events, which then leave it.
  func next(bytesMax: Int = 1 << 20) -> (path: String, headers: [String], body: String, count: Int) {
    let body = RequestBody(capacity: 8)
    let filled = outgoing.fill(body, from: batch, key: "dk_out", now: DatalyrHall.received, bytesMax: bytesMax)
    let sent = EventBatch(capacity: 64)
    var place = 0
    for event in batch.events.prefix(filled) {
      sent.append(event, app: "app", bytes: batch.bytes(of: event), envelope: batch.envelope(of: event))
    }
    let target = outgoing.target(of: sent, key: "dk_out")
    batch.keep { _ in
      place += 1
      return place > filled
    }
    return (target.path, target.headers, String(decoding: body.content, as: UTF8.self), filled)
  }
}

extension DatalyrForm {
  /// An event of the form that keeps all rules but in one member; nil: without that.
  func event(_ member: Member, _ json: String?) -> String {
    event(json.map { [member: $0] } ?? [:], without: json == nil ? member : nil)
  }

  /// An event of the form that keeps all rules, with some members otherwise.
  func event(_ changes: [Member: String] = [:], without left: Member? = nil, more: String = "") -> String {
    let usual: [Member: String] = [
      .name: #""n""#, .id: #""e-1""#, .anonymousID: #""anon_1""#, .userID: #""u""#, .time: #""2026-10-23T12:00:00Z""#,
      .data: #"{"a":39.990}"#, .context: "{}", .workspace: #""ws_1""#,
    ]
    let members = Member.allCases.filter { has($0) && $0 != left }.compactMap { member in
      (changes[member] ?? usual[member]).map { "\"\(name(of: member))\":\($0)" }
    }
    return "{\(members.joined(separator: ","))\(more)}"
  }
}

/// A web batch's body around some events.
func datalyrBatch(_ events: [String]) -> String {
  #"{"events":[\#(events.joined(separator: ","))],"batchId":"b-1","timestamp":"2026-10-23T12:00:01Z"}"#
}
