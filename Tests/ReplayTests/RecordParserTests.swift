import Clocks
import EventLog
import Records
import Testing

@testable import Replay

@Suite("Events of records")
struct RecordParserTests {
  private static let time = Fixture.time
  private static let id = #""event_id":"0D9F6A34-0000-4000-8000-000000000001""#

  @Test(
    "are what they were when they came, to the byte",
    arguments: [
      (
        EventKind.event,
        #"{\#(id),"name":"paid","anonymous_id":"a","occurred_at":"2026-10-23T06:04:31Z","price":39.990}"#
      ),
      (
        .event,
        #"{ "x":{"event":1}, "name" : "p\u0061id", "user_id":"u,\"event\":{}","anonymous_id":"ı","occurred_at":"2026-10-22T06:04:31.5+03:00",\#(id) }"#
      ),
      (.event, #"{\#(id),"name":"old","anonymous_id":"a","occurred_at":"2001-01-01T00:00:00Z","user_id":null}"#),
      (.identify, #"{"anonymous_id":"a","user_id":"u"}"#),
    ])
  func roundTrip(kind: EventKind, text: String) throws {
    // The first as it mostly is, the second with an escape.
    for app in ["ios", "i\"os"] { try roundTrip(kind, text, app: app) }
  }

  private func roundTrip(_ kind: EventKind, _ text: String, app: String) throws {
    let lines = RecordLines(relay: "r-1")
    TestRecord.withEvent(text, at: Self.time, kind: kind) { event, bytes in
      var event = event
      event.original = 1234
      lines.append(event, app: app, bytes: bytes)
      let parser = RecordParser()
      let found = parser.parse(lines.bytes)
      #expect(found?.app == app && found?.relay == "r-1")
      #expect(found?.event.original == 1234)
      #expect(found?.event.index == event.index)
      #expect(found?.event.kind == kind)
      #expect(found?.event.receivedAt == Self.time)
      #expect(found.map { String(decoding: $0.bytes, as: UTF8.self) } == text)
    }
  }

  @Test(
    "aren't made of what is no record, or keeps the rules no longer",
    arguments: [
      "", "{}", #"{"received_at":"x","event":{}}"#,
      #"{"received_at":"2026-10-23T06:04:31.512Z","relay":"r","app":"ios","kind":"event","seq":1,"event":{"name":"x"}}"#,
      #"{"received_at":"2026-10-23T06:04:31.512Z","relay":"r","app":"","kind":"event","seq":1,"event":{}}"#,
      #"{"received_at":"2026-10-23T06:04:31.512Z","relay":"r","app":"a","kind":"what","seq":1,"event":{}}"#,
    ])
  func others(line: String) {
    let bytes = Array(line.utf8)
    bytes.withUnsafeBytes { #expect(RecordParser().parse($0) == nil) }
  }
}
