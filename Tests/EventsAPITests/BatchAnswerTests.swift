import JSON
import Testing

@testable import EventsAPI

private func answer(accepted: Int, rejected: [Rejection] = [], clamped: [ClampedEvent] = []) -> String {
  var out = Array("|".utf8)
  BatchAnswer.write(accepted: accepted, rejected: rejected, clamped: clamped, to: &out)
  return String(decoding: out, as: UTF8.self)
}

@Suite("The answer to a batch")
struct BatchAnswerTests {
  @Test("has all three fields when nothing is wrong", arguments: [0, 1, 9, 10, 99, 100])
  func plain(_ count: Int) {
    #expect(answer(accepted: count) == "|{\"accepted\":\(count),\"rejected\":[],\"clamped\":[]}")
  }

  @Test("names what is rejected and clamped, ids as they were sent")
  func mixed() throws {
    let odd = #""\"\u0131/ı\ud800""#
    let reading = read(events: [
      EventText().with("name", "1").text, EventText().with("event_id", odd).text,
      EventText().with("event_id", "7").text,
      "null",
      EventText().with("event_id", #""AbCdEf01-3c3e-4d8a-8f6e-1f9b8a2c7d10""#)
        .with("occurred_at", #""2020-01-01T00:00:00Z""#).text, EventText().text,
    ])
    let text = answer(accepted: reading.accepted.count, rejected: reading.rejected, clamped: reading.clamped)
    #expect(text.contains("\"event_id\":\(odd),"))
    let object = try JSONValue(parsing: String(text.dropFirst()).replacing(#"\ud800"#, with: ""))
    #expect(object["accepted"]?.integer() == 2)
    let rejected = try #require(object["rejected"]?.array)
    #expect(rejected.map { $0["index"]?.integer() } == [0, 1, 2, 3])
    #expect(rejected.map { $0["code"]?.string } == ["invalid_name", "invalid_id", "invalid_id", "invalid_event"])
    let ids: [JSONValue?] = ["0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10", "\"ı/ı", JSONValue.null, JSONValue.null]
    #expect(rejected.map { $0["event_id"] } == ids)
    #expect(rejected.allSatisfy { $0["message"]?.string?.isEmpty == false })
    #expect(
      object["clamped"] == [["index": 4, "event_id": "AbCdEf01-3c3e-4d8a-8f6e-1f9b8a2c7d10"]])
  }

  @Test("a rejection made elsewhere echoes its id as JSON")
  func made() {
    let rejection = Rejection(index: 3, eventID: "a\"b", code: .tooManyEventNames, message: "At most 500.")
    #expect(rejection.eventID == "a\"b")
    #expect(
      answer(accepted: 1, rejected: [rejection])
        == #"|{"accepted":1,"rejected":[{"index":3,"event_id":"a\"b","code":"too_many_event_names","message":"At most 500."}],"clamped":[]}"#
    )
  }
}

@Suite("The body of identify")
struct IdentifyTests {
  private func identify(_ body: String) -> Result<AcceptedEvent, APIError> {
    withPadded(Array(body.utf8)) { EventsReader().readIdentify($0, receivedAt: receivedAt) }
  }

  @Test("is the event itself, without the white space around it")
  func accepted() throws {
    let body = " \n{\"anonymous_id\":\"a\\u0062\", \"user_id\":\"u_81723\",\n\"more\":[1]}\n "
    let event = try identify(body).get()
    #expect((event.offset, event.length) == (2, body.utf8.count - 4))
    #expect((event.idHigh, event.idLow, event.nameOffset, event.occurredAtOffset) == (0, 0, 0, 0))
    #expect(event.occurredAt == receivedAt)
    #expect(event.hasUser && event.hasLineBreaks && !event.isClamped)
    #expect(withPadded(Array(body.utf8)) { event.anonymousID(in: $0) } == "ab")
    let inBatch = try #require(
      read(events: [EventText().with("anonymous_id", "\"ab\"").text]).accepted.first)
    #expect((event.installHash, event.userHash) == (inBatch.installHash, inBatch.userHash))
  }

  @Test(
    "is refused with invalid_body when an id is not 1 to 128 characters, or it is no object",
    arguments: [
      "", "[]", "{}", "null", #"{"anonymous_id":"a"}"#, #"{"user_id":"u"}"#, #"{"anonymous_id":"a","user_id":null}"#,
      #"{"anonymous_id":"","user_id":"u"}"#, #"{"anonymous_id":"a","user_id":""}"#,
      #"{"anonymous_id":1,"user_id":"u"}"#,
      #"{"anonymous_id":"a","user_id":"u"} x"#, #"{"anonymous_id":"a","user_id":"u","x":truexyz}"#,
      "{\"anonymous_id\":\"a\",\"user_id\":\"\(String(repeating: "u", count: 129))\"}",
    ])
  func refused(_ body: String) {
    let error = #expect(throws: APIError.self) { try identify(body).get() }
    #expect(error?.status == 400 && error?.code == "invalid_body")
  }

  @Test("is refused when it is too long")
  func tooLong() {
    let body =
      "{\"anonymous_id\":\"a\",\"user_id\":\"u\",\"x\":\"\(String(repeating: "x", count: EventsLimits.bodyBytesMax))\"}"
    #expect(identify(body) == .failure(.payloadTooLarge))
  }
}

@Suite("A single event by itself")
struct SingleEventTests {
  private func read(_ body: String) -> Reading {
    let reader = EventsReader()
    return withPadded(Array(body.utf8)) {
      let error = reader.readEvent($0, receivedAt: receivedAt)
      return Reading(error: error, accepted: reader.accepted, rejected: reader.rejected, clamped: reader.clamped)
    }
  }

  @Test("is judged like one in a batch")
  func judged() {
    #expect(read(EventText().text).accepted.map(\.index) == [0])
    #expect(read(EventText().with("name", nil).text).codes == [.invalidName])
    #expect(read(EventText().with("occurred_at", #""2020-01-01T00:00:00Z""#).text).clamped.map(\.index) == [0])
    #expect(read("[]").error?.code == "invalid_body")
  }
}
