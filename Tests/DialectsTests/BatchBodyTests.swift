import Clocks
import HTTPClient
import Testing

@testable import Dialects
@testable import EventLog

@Suite("A request's body")
struct BatchBodyTests {
  private static let received = Timestamp(milliseconds: 1_792_757_071_512)

  /// Lays events into a batch as they lie in the log: those in one group are neighbours with a comma between them.
  private func batch(_ groups: [[String]], clamped: Set<String> = []) -> EventBatch {
    let batch = EventBatch(capacity: 64)
    var sequence: UInt64 = 1
    for group in groups {
      for (at, text) in group.enumerated() {
        if at > 0 {
          batch.reserve(1)
          batch.bytes[batch.used] = UInt8(ascii: ",")
          batch.used += 1
        }
        let isClamped = clamped.contains(text)
        let value = text.firstRange(of: #""occurred_at":"#).map {
          text.utf8.distance(from: text.startIndex, to: $0.upperBound)
        }
        let index = EventIndex(
          idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: text.utf8.count, nameOffset: 0,
          occurredAtOffset: value ?? 0, occurredAt: Self.received, flags: isClamped ? .clamped : [])
        let event = StoredEvent(
          sequence: sequence, index: index, kind: .event, dialect: 0, receivedAt: Self.received, appIndex: 0, offset: 0)
        Array(text.utf8).withUnsafeBytes { batch.append(event, app: "ios", bytes: $0) }
        sequence += 1
      }
    }
    return batch
  }

  private func body(_ batch: EventBatch, bytesMax: Int = 1 << 20) -> (text: String, count: Int) {
    let body = RequestBody(capacity: 16)
    let count = BatchBody.fill(body, from: batch, bytesMax: bytesMax)
    return (String(decoding: body.content, as: UTF8.self), count)
  }

  @Test("holds the events byte by byte, neighbours or not")
  func plain() {
    let odd = #"{ "n" : 9007199254740993, "x":1E5,"y":39.990,"z":"\u0131\/" }"#
    let groups = [[#"{"a":1}"#, odd, #"{"a":2}"#], [#"{"a":3}"#], [odd, #"{"a":4}"#]]
    let (text, count) = body(batch(groups))
    #expect(text == #"{"events":[\#(groups.joined().joined(separator: ","))]}"#)
    #expect(count == 6)
  }

  @Test("puts the moment of receipt in the place of a clamped event's time, and changes nothing else")
  func clamped() {
    let odd = #"{"occurred_at":"2019\u002d01-01T00:00:00\"Z" , "b":[1]}"#
    let last = #"{"x":1,"occurred_at":"1999-01-01T00:00:00Z"}"#
    let plain = #"{"occurred_at":"2026-10-23T00:00:00Z"}"#
    let (text, _) = body(batch([[plain, odd, plain], [last]], clamped: [odd, last]))
    let now = Self.received.description
    #expect(
      text == #"{"events":[\#(plain),{"occurred_at":"\#(now)" , "b":[1]},\#(plain),{"x":1,"occurred_at":"\#(now)"}]}"#)
  }

  @Test("leaves a clamped event alone whose time isn't where it should be")
  func damagedIndex() {
    let event = #"{"a":1}"#
    let (text, _) = body(batch([[event]], clamped: [event]))
    #expect(text == #"{"events":[{"a":1}]}"#)
  }

  @Test("ends before the event that would make it too long, however long the moments put in are")
  func cut() {
    let event = #"{"occurred_at":"2020-01-01T00Z"}"#
    let events = batch([[event, event, event]], clamped: [event])
    let one = body(batch([[event]], clamped: [event])).text.utf8.count
    let three = body(events).text.utf8.count
    #expect(body(events, bytesMax: three).count == 3)
    #expect(body(events, bytesMax: three - 1).count == 2)
    #expect(body(events, bytesMax: one).count == 1)
    #expect(body(events, bytesMax: 1).count == 1, "a single event goes, however large")
    #expect(body(events, bytesMax: three - 1).text.utf8.count <= three - 1)
  }
}
