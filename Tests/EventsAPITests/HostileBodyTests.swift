import Testing

@testable import EventsAPI

/// Text put where the values of members nobody reads stand.
private func batch(withUnknown value: String) -> [UInt8] {
  batch(withUnknown: Array(value.utf8))
}

private func batch(withUnknown value: [UInt8]) -> [UInt8] {
  let (before, after) = (EventText().text.dropLast() + ",\"unknown\":", "},\(EventText().text)]}")
  return Array("{\"events\":[\(EventText().text),\(before)".utf8) + value + Array(after.utf8)
}

@Suite("Hostile bodies")
struct HostileBodyTests {
  @Test(
    "are refused as a whole when a byte of them is not JSON, be it in a value nobody reads",
    arguments: [
      "truexyz", "tru", "True", "nul", "nulll", "falsey", "01.e", "01", "1.", ".5", "+1", "-", "--1", "-a", "1e", "1e+",
      "1.e5", "0x1",
      "1_000", "1a", "1\"a\"", "Infinity", "NaN", "'a'", "\"a", "\"\\q\"", #""\u12G4""#, #""\u123""#, #""\U0041""#,
      #""\x41""#, "\"\\",
      "[1,]", "[,1]", "[1 2]", "[1", "1]", "{\"a\"}", "{\"a\":}", "{a:1}", "{1:1}", "{\"a\":1,}", "{,}", "{\"a\" 1}",
      "{\"a\":1 \"b\":2}",
      "{\"a\":1]", "[1}", "\"a\"\"b\"", "\"a\" 1", "1 2", "", ",", ":", "/**/1", "1//", "\\", "\\\"a\"", "undefined",
      "\u{0C}1", "1\u{1A}", "\u{A0}1",
      "\u{FEFF}1", "\"\u{01}\"", "\"\n\"", "\"\t\"", "\"\u{1F}\"", "\u{00}", "1\u{00}", "[\u{0C}]", "{\"\\q\":1}", "é",
      "1é",
    ])
  func notJSON(_ value: String) {
    let reading = read(batch(withUnknown: value))
    #expect(reading.error?.status == 400)
    #expect(reading.error?.code == "invalid_body")
    #expect(reading.accepted.isEmpty && reading.rejected.isEmpty)
  }

  @Test(
    "that are JSON are not refused",
    arguments: [
      "0", "-0", "0.0", "-0.0e-0", "1E5", "1e+5", "123456789012345678901234567890", "1e999999", "-1e-999999",
      #""\u0000""#, #""\ud800""#,
      #""\udc00\ud800""#, #""\ud83d\u0041""#, #""\ud83d\ud83d\udc4d""#, "\"\u{7F}\"", #""\/\b\f\n\r\t\"\\""#, "[]",
      "{}", "[[],{},[{}]]",
      #"{"":{"":""}}"#, " \t\r\n1 \t\r\n", #""\\""#, #""\\\\\"""#, "\"\u{10FFFF}\u{FEFF}\u{2028}\"",
      #"{"a":1,"a":{"a":1}}"#,
    ])
  func unusual(_ value: String) {
    let reading = read(batch(withUnknown: value))
    #expect(reading.error == nil)
    #expect(reading.rejected == [])
    #expect(reading.accepted.count == 3)
  }

  @Test(
    "with invalid UTF-8 are refused, wherever it stands",
    arguments: [
      [0x80], [0xC3], [0xC0, 0xAF], [0xC1, 0xBF], [0xE0, 0x80, 0xAF], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0xAF],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF], [0xE2, 0x82], [0xF0, 0x9F, 0x91],
    ] as [[UInt8]])
  func invalidUTF8(_ bytes: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    let inString = batch(withUnknown: [quote] + bytes + [quote])
    #expect(read(inString).error?.message.contains("UTF-8 (at byte \(inString.firstIndex(of: bytes[0])!))") == true)
    #expect(read(batch(withUnknown: bytes)).error?.code == "invalid_body")
    #expect(read(Array("{\"events\":[1]}".utf8) + bytes).error?.code == "invalid_body")
    #expect(read(bytes).error?.code == "invalid_body")
  }

  @Test(
    "are refused for what they are, with the place",
    arguments: [
      ("", "is empty (at byte 0)"), ("  \n ", "is empty"), ("\u{FEFF}{\"events\":[1]}", "byte order mark (at byte 0)"),
      ("[]", "not a JSON object (at byte 0)"), (" 3", "not a JSON object (at byte 1)"), ("null", "not a JSON object"),
      ("{}", "has no \"events\""), (#"{"event":[1]}"#, "has no \"events\""), (#"{"Events":[1]}"#, "has no \"events\""),
      (#"{"events":{}}"#, "not an array (at byte 10)"), (#"{"events":null}"#, "not an array"),
      (#"{"events":[1],"events":2}"#, "not an array"),
      (#"{"events":[]}"#, "holds 0"), (#"{"events":[1],"events":[]}"#, "holds 0"),
      (#"{"events":[1]} x"#, "closing brace (at byte 15)"),
      (#"{"events":[1]}}"#, "goes on after its closing brace (at byte 14)"),
      (#"{"events":[1]}{"events":[1]}"#, "goes on"),
      (#"{"events":[1]"#, "closing brace"), (#"{"events":[{}"#, "ends too early (at byte 13)"), ("{", "closing brace"),
      ("{\"events\":[\"a\u{02}\"]}", "control character in a string (at byte 13)"),
      (#"{"events":["a]}"#, "not closed (at byte 11)"),
      (#"{"events":["\q"]}"#, "escape that JSON does not know (at byte 12)"),
      (#"{"events":[tru]}"#, "no JSON value (at byte 11)"),
      (#"{"events" [1]}"#, "no ':' where one must stand (at byte 10)"),
      (#"{events:[1]}"#, "no string where a key must stand (at byte 1)"),
    ])
  func messages(_ body: String, _ expected: String) {
    let error = read(body).error
    #expect(error?.code == "invalid_body")
    #expect(error?.message.contains(expected) == true, "\(error?.message ?? "accepted")")
  }

  @Test("hold 1 to 100 events, all of them counted")
  func count() {
    #expect(read(events: Array(repeating: EventText().text, count: 100)).accepted.count == 100)
    #expect(read(events: Array(repeating: EventText().text, count: 101)).error?.message.contains("holds 101") == true)
    #expect(read(events: Array(repeating: "1", count: 500_000)).error?.message.contains("holds 500000") == true)
    // The last "events" counts, its name escaped or not.
    let many = Array(repeating: "1", count: 200).joined(separator: ",")
    #expect(read("{\"events\":[\(many)],\"\\u0065vents\":[\(EventText().text)]}").accepted.count == 1)
  }

  @Test("may be 1048576 bytes long, not one more")
  func length() {
    let body = "{\"events\":[\(EventText().text)],\"padding\":\"\"}"
    for (extra, error) in [(0, nil), (1, APIError.payloadTooLarge)] {
      let padding = String(repeating: "x", count: EventsLimits.bodyBytesMax - body.utf8.count + extra)
      let reading = read("{\"events\":[\(EventText().text)],\"padding\":\"\(padding)\"}")
      #expect(reading.error == error)
      #expect(reading.accepted.count == (error == nil ? 1 : 0))
    }
  }

  @Test("of nothing but brackets are refused, a megabyte of them as quickly as one")
  func brackets() {
    for bracket in ["[", "{", "]", "}", "\"", ",", "[{", "{\"a\":", "[[", "\\", "0", "\"\\"] {
      let body = String(repeating: bracket, count: EventsLimits.bodyBytesMax / bracket.utf8.count)
      #expect(read(body).error?.code == "invalid_body")
      #expect(read("{\"events\":[" + body.dropLast(20) + "}").error?.code == "invalid_body")
    }
  }

  @Test("that nest deeply harm only the event that does")
  func depth() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[{\"a\":", count: depth / 2) + "1" + String(repeating: "}]", count: depth / 2)
    }
    let deep = EventText().with("unknown", nested(100_000))
    let reading = read(events: [EventText().text, deep.text, EventText().text])
    #expect(reading.error == nil)
    #expect(reading.codes == [.eventTooLarge])
    #expect(reading.accepted.map(\.index) == [0, 2])
    #expect(EventText().with("unknown", nested(1500)).rejection == nil)
    #expect(
      EventText().with("properties", nested(1500).replacing("[{\"a\":", with: "{\"a\":").replacing("}]", with: "}"))
        .code == .invalidProperties)
    #expect(read("{\"x\":\(nested(200_000)),\"events\":[\(EventText().text)]}").accepted.count == 1)
    #expect(
      read("{\"x\":\(nested(200_000).dropLast()),\"events\":[\(EventText().text)]}").error?.code == "invalid_body")
  }

  @Test("leave no trace in the next body's reading")
  func reuse() {
    let reader = EventsReader()
    let good = Array("{\"events\":[\(EventText().text)]}".utf8)
    for bad in [
      batch(withUnknown: "tru"), [], batch(withUnknown: String(repeating: "[", count: 200_000)),
      Array("{\"events\":[1]}".utf8),
    ] {
      _ = withPadded(bad) { reader.readBatch($0, receivedAt: receivedAt) }
      #expect(reader.accepted.isEmpty)
      #expect(withPadded(good) { reader.readBatch($0, receivedAt: receivedAt) } == nil)
      #expect(reader.accepted.count == 1)
      #expect(reader.rejected.isEmpty)
    }
  }
}
