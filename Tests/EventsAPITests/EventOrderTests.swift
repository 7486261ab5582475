import Testing

@testable import EventsAPI

@Suite("The order in which rules are checked")
struct EventOrderTests {
  @Test("an event that breaks several gets the first one's code, whichever is mended after it")
  func order() {
    let tooMany = "{" + (0..<51).map { "\"k\($0)\":[]" }.joined(separator: ",") + "}"
    let everything = EventText()
      .with("unknown", "\"\(String(repeating: "x", count: 8192))\"").with("name", #""$a""#).with("event_id", "1")
      .with("occurred_at", #""now""#).with("properties", tooMany)
    let mendings: [(RejectionCode, (EventText) -> EventText)] = [
      (.eventTooLarge, { $0.with("unknown", "1") }),
      (.reservedName, { $0.with("name", #""$""#) }),
      (.invalidName, { $0.with("name", #""a""#) }),
      (.invalidID, { $0.with("event_id", #""0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10""#) }),
      (.invalidTimestamp, { $0.with("occurred_at", #""2026-10-23T12:00:00Z""#) }),
      (.tooManyProperties, { $0.with("properties", #"{"a":[]}"#) }),
      (.invalidProperties, { $0.with("properties", "{}") }),
    ]
    var event = everything
    for (code, mended) in mendings {
      #expect(event.code == code)
      event = mended(event)
    }
    #expect(event.rejection == nil)
  }

  @Test("an id is named that is wrong: event_id before anonymous_id before user_id")
  func ids() {
    let all = EventText().with("event_id", nil).with("anonymous_id", nil).with("user_id", "1")
    #expect(all.rejection?.message.contains("event_id") == true)
    let two = EventText().with("anonymous_id", nil).with("user_id", "1")
    #expect(two.rejection?.message.contains("anonymous_id") == true)
    #expect(EventText().with("user_id", "1").rejection?.message.contains("user_id") == true)
  }
}

@Suite("The size of an event")
struct EventSizeTests {
  /// An event whose shortest JSON has so many bytes, padded by an unknown member.
  private func event(_ size: Int, unit: String = "x", unitSize: Int = 1) -> EventText {
    let empty = EventText().with("unknown", #""""#).text.utf8.count
    let (units, rest) = (size - empty).quotientAndRemainder(dividingBy: unitSize)
    return EventText().with(
      "unknown", "\"\(String(repeating: unit, count: units))\(String(repeating: "x", count: rest))\"")
  }

  @Test(
    "ends at 8192 bytes of the shortest JSON",
    arguments: [
      ("x", 1), (#"\u0078"#, 1), (#"\/"#, 1), (#"\u0131"#, 2), ("ı", 2), (#"\u20ac"#, 3), (#"\ud83d\udc4d"#, 4),
      ("👍", 4),
      (#"\""#, 2), (#"\\"#, 2), (#"\n"#, 2), (#"\u000A"#, 2), (#"\u0022"#, 2), (#"\u005C"#, 2), (#"\u0001"#, 6),
      (#"\u001f"#, 6),
      (#"\u007f"#, 1), (#"\ud800"#, 3), (#"\udc00"#, 3),
    ])
  func boundary(_ unit: String, _ size: Int) {
    #expect(event(8192, unit: unit, unitSize: size).rejection == nil)
    #expect(event(8193, unit: unit, unitSize: size).code == .eventTooLarge)
  }

  @Test("does not count white space between tokens, and counts it in strings")
  func whiteSpace() {
    let space = String(repeating: " \t\r\n", count: 4000)
    let spaced = EventText().text
      .replacing(",\"", with: ",\(space)\"").replacing("{", with: "{\(space)").replacing("}", with: "\(space)}")
    let reading = read(events: [spaced])
    #expect(reading.codes == [])
    #expect(reading.texts == [spaced])
    #expect(EventText().with("unknown", "\"\(String(repeating: " ", count: 8192))\"").code == .eventTooLarge)
  }

  @Test("does not hide the id of the event that is too large")
  func id() {
    #expect(event(8193).rejection?.eventID == "0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10")
  }
}
