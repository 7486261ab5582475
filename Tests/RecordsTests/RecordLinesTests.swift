import Clocks
import EventLog
import JSON
import Records
import Testing

@Suite("A record's line")
struct RecordLinesTests {
  private let lines = RecordLines(relay: "r-1")
  private let receivedAt = Timestamp(milliseconds: 1_792_757_071_512)

  private func event(
    _ sequence: UInt64, _ text: String, kind: EventKind = .event, flags: EventIndex.Flags = [], at: Timestamp? = nil
  ) -> StoredEvent {
    StoredEvent(
      sequence: sequence,
      index: EventIndex(
        idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: text.utf8.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: Timestamp(milliseconds: 0), flags: flags),
      kind: kind, dialect: 0, receivedAt: at ?? receivedAt, appIndex: 0, offset: 0)
  }

  private func add(
    _ sequence: UInt64, _ text: String, app: String = "ios", kind: EventKind = .event, flags: EventIndex.Flags = [],
    at: Timestamp? = nil, deadLetter: DeadLetterDetails? = nil
  ) {
    Array(text.utf8).withUnsafeBytes {
      lines.append(
        event(sequence, text, kind: kind, flags: flags, at: at), app: app, bytes: $0, deadLetter: deadLetter)
    }
  }

  private var text: String { String(decoding: lines.bytes, as: UTF8.self) }

  @Test("has the event as it came, after what is known of it")
  func event() {
    add(123, #"{"b":39.990,"a":9007199254740993 ,"c":"\u0131"}"#)
    #expect(
      text
        == #"{"received_at":"2026-10-23T12:04:31.512Z","relay":"r-1","app":"ios","kind":"event","protocol":"app-store-operator","seq":123,"#
        + #""event":{"b":39.990,"a":9007199254740993 ,"c":"\u0131"}}"# + "\n")
  }

  @Test("names the time used for a clamped event")
  func clamped() {
    add(0, "{}", flags: .clamped)
    #expect(
      text
        == #"{"received_at":"2026-10-23T12:04:31.512Z","relay":"r-1","app":"ios","kind":"event","protocol":"app-store-operator","seq":0,"#
        + #""occurred_at_used":"2026-10-23T12:04:31.512Z","event":{}}"# + "\n")
  }

  @Test("says of a dead letter why it is one, before the event")
  func deadLetter() {
    add(
      18_446_744_073_709_551_615, #"{"anonymous_id":"x"}"#, kind: .identify,
      deadLetter: DeadLetterDetails(
        destination: "upstream", reason: .rejected, status: 200, code: "invalid_name", message: "say \"please\"\n",
        attempts: 2, at: Timestamp(milliseconds: 1_792_757_072_000)))
    #expect(
      text
        == #"{"received_at":"2026-10-23T12:04:31.512Z","relay":"r-1","app":"ios","kind":"identify","protocol":"app-store-operator","#
        + #""seq":18446744073709551615,"destination":"upstream","reason":"rejected","status":200,"code":"invalid_name","#
        + #""message":"say \"please\"\n","attempts":2,"at":"2026-10-23T12:04:32.000Z","event":{"anonymous_id":"x"}}"#
        + "\n")
  }

  @Test("has null for what a dead letter's other side didn't say, and cuts what it said at length")
  func deadLetterLimits() throws {
    let long = String(repeating: "ü", count: 5000)
    add(
      1, "{}",
      deadLetter: DeadLetterDetails(
        destination: "upstream", reason: .poison, status: nil, code: nil, message: long, attempts: 1, at: receivedAt))
    let line = try JSONValue(parsing: text)
    #expect(line["status"] == .null)
    #expect(line["code"] == .null)
    #expect(try #require(line["message"]?.string).utf8.count < DeadLetterDetails.messageBytesMax + 10)
  }

  @Test("stays one line when the event came in several")
  func lineBreaks() {
    add(1, "{\r\n  \"a\": \"x\\ny\"\n}", flags: .lineBreaks)
    #expect(text.hasSuffix(#""event":{    "a": "x\ny" }}"# + "\n"))
    #expect(text.filter { $0 == "\n" || $0 == "\r\n" || $0 == "\r" }.count == 1)
  }

  @Test("escapes an app's name")
  func names() throws {
    add(1, "{}", app: "a\"b")
    #expect(try JSONValue(parsing: text)["app"]?.string == "a\"b")
  }

  @Test("follows each change of time, app and kind")
  func heads() throws {
    add(1, "{}")
    add(2, "{}", at: receivedAt + .milliseconds(1), deadLetter: nil)
    add(3, "{}", app: "web")
    add(4, "{}", kind: .identify)
    add(5, "{}", flags: .clamped, at: receivedAt + .seconds(1))
    let all = try text.split(separator: "\n").map { try JSONValue(parsing: String($0)) }
    #expect(all.map { $0["seq"]?.integer() } == [1, 2, 3, 4, 5])
    #expect(all.map { $0["app"]?.string } == ["ios", "ios", "web", "ios", "ios"])
    #expect(all.map { $0["kind"]?.string } == ["event", "event", "event", "identify", "event"])
    #expect(all[1]["received_at"]?.string == "2026-10-23T12:04:31.513Z")
    #expect(all[4]["occurred_at_used"] == all[4]["received_at"])
  }

  @Test("grows its buffer, and gives up lines from the front")
  func buffer() {
    let big = #"{"a":""# + String(repeating: "x", count: 200_000) + #""}"#
    add(1, "{}")
    let first = lines.count
    add(2, big)
    lines.removeFirst(first)
    #expect(text.hasPrefix(#"{"received_at":"#))
    #expect(text.hasSuffix(#""event":"# + big + "}\n"))
    lines.removeAll()
    #expect(lines.isEmpty)
  }

  @Test("gives its event back, to the byte")
  func eventRange() throws {
    let tricky = #"{"x":",\"event\":{}","event":1}"#
    add(
      7, tricky, app: #"a,"event":b"#,
      deadLetter: DeadLetterDetails(
        destination: #","event":"#, reason: .refused, status: 401, code: nil, message: #"x,"event":{"#, attempts: 1,
        at: receivedAt))
    let range = try #require(RecordLines.eventRange(in: lines.bytes))
    #expect(String(decoding: lines.bytes[range], as: UTF8.self) == tricky)
  }

  @Test("is nothing else", arguments: ["", "\n", "{}", #"{"received_at":"x","event":}"#, #"{"event":{}}"#])
  func noRecord(text: String) {
    Array(text.utf8).withUnsafeBytes { #expect(RecordLines.eventRange(in: $0) == nil) }
  }

  @Test("is made a dead letter's, as if it had been made of the event")
  func fromLine() {
    let details = DeadLetterDetails(
      destination: "hook", reason: .refused, status: 400, code: nil, message: nil, attempts: 1, at: receivedAt)
    let event = #"{"a":",\"event\":{}"}"#
    add(7, event, flags: .clamped)
    let whole = Array(lines.bytes)
    lines.removeAll()
    add(7, event, flags: .clamped, deadLetter: details)
    let expected = text
    for line in [whole, whole.dropLast()] {
      let made = RecordLines(relay: "unused", capacity: 1)
      line.withUnsafeBytes { made.append(line: $0, deadLetter: details) }
      #expect(String(decoding: made.bytes, as: UTF8.self) == expected)
    }
  }
}
