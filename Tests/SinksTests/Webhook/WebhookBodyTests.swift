import Clocks
import EventLog
import JSON
import Records
import Testing

@testable import Sinks

@Suite("A webhook's body")
struct WebhookBodyTests {
  private let body = WebhookBody(relay: "r-1")
  private let time = Timestamp(milliseconds: 1_792_757_071_512)

  @discardableResult
  private func add(
    _ sequence: UInt64, _ text: String, flags: EventIndex.Flags = [], bytesMax: Int = 1 << 20
  ) -> Bool {
    let bytes = Array(text.utf8)
    let event = StoredEvent(
      sequence: sequence,
      index: EventIndex(
        idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: bytes.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: time, flags: flags),
      kind: .event, dialect: 0, receivedAt: time, appIndex: 0, offset: 0)
    return bytes.withUnsafeBytes { body.append(event, app: "ios", bytes: $0, bytesMax: bytesMax) }
  }

  private var text: String { String(decoding: body.bytes, as: UTF8.self) }
  private let head =
    #"{"received_at":"2026-10-23T12:04:31.512Z","relay":"r-1","app":"ios","kind":"event","protocol":"app-store-operator","seq":"#

  @Test("holds the events' lines byte by byte, with commas between, and the moment it was put together")
  func form() {
    add(1, #"{"a":39.990}"#)
    add(2, "{\"b\":\n1}", flags: .lineBreaks)
    let length = body.length
    body.close(at: time + .seconds(1))
    #expect(
      text == #"{"type":"events.batch","timestamp":"2026-10-23T12:04:32.512Z","data":{"events":["#
        + head + #"1,"event":{"a":39.990}},"# + head + #"2,"event":{"b": 1}}]}}"#)
    #expect(length == body.bytes.count)
    #expect(body.range == 1...2 && body.count == 2)
    body.removeAll()
    #expect(body.isEmpty && body.range == nil)
    add(9, "{}")
    body.close(at: time)
    #expect((try? JSONValue(parsing: Array(text.utf8)))?["data"]?["events"]?.array?.count == 1)
  }

  @Test("takes no event beyond its limit, but a first one of any size")
  func limit() {
    let big = #"{"a":""# + String(repeating: "x", count: 500) + #""}"#
    #expect(add(1, big, bytesMax: 100))
    #expect(!add(2, "{}", bytesMax: 100))
    body.removeAll()
    add(1, "{}")
    let room = body.length + head.utf8.count + #"2,"event":{}},"#.utf8.count
    #expect(!add(2, "{}", bytesMax: room - 1))
    #expect(add(2, "{}", bytesMax: room))
    body.close(at: time)
    #expect(body.bytes.count == room)
  }

  @Test("makes dead letters of its lines, as if they were made of the events")
  func deadLetters() {
    add(1, #"{"a":",\"event\":{"}"#)
    add(2, #"{"b":2}"#, flags: .clamped)
    body.close(at: time)
    let details = DeadLetterDetails(
      destination: "hook", reason: .refused, status: 400, code: nil, message: "no, \"never\"", attempts: 3, at: time)
    let lines = RecordLines(relay: "unused")
    body.appendDeadLetters(to: lines, details)
    let tail =
      #""destination":"hook","reason":"refused","status":400,"code":null,"message":"no, \"never\"","attempts":3,"#
      + #""at":"2026-10-23T12:04:31.512Z","event":"#
    #expect(
      String(decoding: lines.bytes, as: UTF8.self) == head + "1," + tail + #"{"a":",\"event\":{"}}"# + "\n" + head
        + #"2,"occurred_at_used":"2026-10-23T12:04:31.512Z","# + tail + #"{"b":2}}"# + "\n")
  }
}
