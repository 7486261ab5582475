import Testing

@testable import EventsAPI

/// A string literal of so many characters.
private func literal(_ character: String, _ count: Int) -> String {
  "\"\(String(repeating: character, count: count))\""
}

private func object(ofKeys count: Int, value: String = "1") -> String {
  "{" + (0..<count).map { "\"k\($0)\":\(value)" }.joined(separator: ",") + "}"
}

/// One member with one value, and what becomes of the event.
struct Rule: Sendable, CustomTestStringConvertible {
  var member: String
  /// Nil: the member isn't there.
  var value: String?
  /// Nil: the event is accepted.
  var code: RejectionCode?

  init(_ member: String, _ value: String?, _ code: RejectionCode? = nil) {
    self.member = member
    self.value = value
    self.code = code
  }

  var testDescription: String { "\(member): \(value.map { String($0.prefix(80)) } ?? "(none)")" }
}

@Suite("The rules for one event")
struct EventRulesTests {
  @Test(
    "name",
    arguments: [
      Rule("name", literal("a", 1)), Rule("name", literal("Z", 64)), Rule("name", literal("a", 65), .invalidName),
      Rule("name", #""AZaz09_.:-""#), Rule("name", #""na\u006de""#), Rule("name", #""""#, .invalidName),
      Rule("name", nil, .invalidName), Rule("name", "null", .invalidName), Rule("name", "1", .invalidName),
      Rule("name", #"["a"]"#, .invalidName), Rule("name", #"{"a":1}"#, .invalidName),
      Rule("name", #""a b""#, .invalidName),
      Rule("name", #""é""#, .invalidName), Rule("name", #""a\n""#, .invalidName),
      Rule("name", #""a\u0000""#, .invalidName),
      Rule("name", #""a/b""#, .invalidName), Rule("name", #""a@""#, .invalidName), Rule("name", #""[""#, .invalidName),
      Rule("name", #""`""#, .invalidName), Rule("name", #""{""#, .invalidName), Rule("name", #"";""#, .invalidName),
      Rule("name", "\"a\u{7F}\"", .invalidName), Rule("name", #""\ud800""#, .invalidName),
      Rule("name", literal(#"\u0061"#, 64)), Rule("name", literal(#"\u0061"#, 65), .invalidName),
      Rule("name", #""$a""#, .reservedName), Rule("name", "\"$\(String(repeating: "a", count: 63))\"", .reservedName),
      Rule("name", #""\u0024screen""#, .reservedName),
      Rule("name", "\"$\(String(repeating: "a", count: 64))\"", .invalidName),
      Rule("name", #""$""#, .invalidName), Rule("name", #""$$a""#, .invalidName),
      Rule("name", #""$a b""#, .invalidName),
      Rule("name", #""a$""#, .invalidName),
    ])
  func name(_ rule: Rule) { check(rule) }

  @Test(
    "ids",
    arguments: [
      Rule("event_id", #""0B6F6A3E-3C3E-4D8A-8F6E-1F9B8A2C7D10""#),
      Rule("event_id", #""00000000-0000-0000-0000-000000000000""#),
      Rule("event_id", #""ffffffff-FFFF-ffff-FFFF-ffffffffffff""#), Rule("event_id", nil, .invalidID),
      Rule("event_id", #""0b6f6a3e\u002d3c3e-4d8a-8f6e-1f9b8a2c7d1\u0030""#), Rule("event_id", "null", .invalidID),
      Rule("event_id", "12", .invalidID), Rule("event_id", #""""#, .invalidID),
      Rule("event_id", #""0b6f6a3e3c3e4d8a8f6e1f9b8a2c7d10""#, .invalidID),
      Rule("event_id", #""{0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10}""#, .invalidID),
      Rule("event_id", #""0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d1""#, .invalidID),
      Rule("event_id", #""0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d100""#, .invalidID),
      Rule("event_id", #""0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d1g""#, .invalidID),
      Rule("event_id", #""0b6f6a3e 3c3e-4d8a-8f6e-1f9b8a2c7d10""#, .invalidID),
      Rule("event_id", #""0b6f6a3-e3c3e-4d8a-8f6e-1f9b8a2c7d10""#, .invalidID),
      Rule("event_id", #""0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7dé""#, .invalidID),
      Rule("event_id", #""\u0010b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d1""#, .invalidID),
      Rule("anonymous_id", literal("x", 1)), Rule("anonymous_id", literal("x", 128)),
      Rule("anonymous_id", literal("x", 129), .invalidID), Rule("anonymous_id", literal("👍", 128)),
      Rule("anonymous_id", literal("👍", 129), .invalidID), Rule("anonymous_id", literal(#"\ud83d\udc4d"#, 128)),
      Rule("anonymous_id", literal(#"\ud83d\udc4d"#, 129), .invalidID), Rule("anonymous_id", literal(#"\ud83d"#, 128)),
      Rule("anonymous_id", literal(#"\ud83d"#, 129), .invalidID), Rule("anonymous_id", #""""#, .invalidID),
      Rule("anonymous_id", nil, .invalidID), Rule("anonymous_id", "null", .invalidID),
      Rule("anonymous_id", "7", .invalidID),
      Rule("anonymous_id", #""\u0000""#), Rule("user_id", nil), Rule("user_id", "null"),
      Rule("user_id", literal("u", 128)),
      Rule("user_id", literal("u", 129), .invalidID), Rule("user_id", #""""#, .invalidID),
      Rule("user_id", "81723", .invalidID),
      Rule("user_id", "false", .invalidID), Rule("user_id", "{}", .invalidID), Rule("user_id", literal("ı", 128)),
      Rule("user_id", literal("ı", 129), .invalidID), Rule("user_id", #""\"\\\/\b\f\n\r\t""#),
    ])
  func ids(_ rule: Rule) { check(rule) }

  @Test(
    "properties",
    arguments: [
      Rule("properties", nil), Rule("properties", "null"), Rule("properties", "{}"),
      Rule("properties", #"{"a":null,"b":true,"c":false,"d":-1.5e-7,"e":"","f":9007199254740993}"#),
      Rule("properties", "[]", .invalidProperties), Rule("properties", #""a""#, .invalidProperties),
      Rule("properties", "1", .invalidProperties), Rule("properties", "true", .invalidProperties),
      Rule("properties", object(ofKeys: 50)), Rule("properties", object(ofKeys: 51), .tooManyProperties),
      Rule("properties", object(ofKeys: 51, value: "[]"), .tooManyProperties),
      Rule("properties", object(ofKeys: 50, value: "{}"), .invalidProperties),
      Rule("properties", #"{"":1}"#, .invalidProperties), Rule("properties", "{\(literal("k", 1)):1}"),
      Rule("properties", "{\(literal("k", 64)):1}"), Rule("properties", "{\(literal("k", 65)):1}", .invalidProperties),
      Rule("properties", "{\(literal("ş", 64)):1}"), Rule("properties", "{\(literal("ş", 65)):1}", .invalidProperties),
      Rule("properties", "{\(literal(#"\u015f"#, 64)):1}"),
      Rule("properties", "{\(literal(#"\u015f"#, 65)):1}", .invalidProperties),
      Rule("properties", #"{"a":{}}"#, .invalidProperties), Rule("properties", #"{"a":[]}"#, .invalidProperties),
      Rule("properties", #"{"a":{"b":{"c":[1]}}}"#, .invalidProperties),
      Rule("properties", "{\"a\":\(literal("v", 1024))}"),
      Rule("properties", "{\"a\":\(literal("v", 1025))}", .invalidProperties),
      Rule("properties", "{\"a\":\(literal("👍", 1024))}"),
      Rule("properties", "{\"a\":\(literal("👍", 1025))}", .invalidProperties),
      Rule("properties", "{\"a\":\(literal(#"\u0131"#, 1024))}"),
      Rule("properties", "{\"a\":\(literal(#"\u0131"#, 1025))}", .invalidProperties),
      Rule("properties", "{\"a\":\(literal(#"\udfff"#, 1024))}"),
    ])
  func properties(_ rule: Rule) { check(rule) }

  @Test(
    "context is nobody's business here",
    arguments: ["null", "[]", "1", #""x""#, #"{"app_version":1,"x":{"y":[]}}"#, "{\"locale\":\(literal("x", 65))}"])
  func context(_ value: String) { check(Rule("context", value)) }

  @Test("an element that is no object", arguments: ["null", "1", #""a""#, "true", "[]", "[{}]"])
  func elements(_ element: String) {
    let reading = read(events: [EventText().text, element, EventText().text])
    #expect(reading.error == nil)
    #expect(reading.codes == [.invalidEvent])
    #expect(reading.rejected.first?.index == 1)
    #expect(reading.rejected.first?.eventIDToken == nil)
    #expect(reading.accepted.map(\.index) == [0, 2])
  }

  @Test("of a key that stands twice the last value counts")
  func duplicateKeys() {
    let text = EventText().text
    func with(_ member: String) -> String { text.dropLast() + "," + member + "}" }
    func without(_ member: String) -> String { "{" + member + "," + text.dropFirst() }
    for bad in [
      #""name":"a b""#, #""event_id":1"#, #""anonymous_id":null"#, #""user_id":"""#, #""occurred_at":"x""#,
      #""properties":[]"#,
    ] {
      #expect(read(events: [without(bad)]).codes == [])
      #expect(read(events: [with(bad)]).codes.count == 1)
    }
    #expect(read(events: [with(#""n\u0061me":"a b""#)]).codes == [.invalidName])
    #expect(read(events: [with(#""\u0070roperties":{"a":[]}"#)]).codes == [.invalidProperties])
    let renamed = read(events: [with(#""name":"second""#)])
    #expect(
      withPadded(Array("{\"events\":[\(with(#""name":"second""#))]}".utf8)) { renamed.accepted[0].name(in: $0) }
        == "second")
  }

  @Test("of a property's key that stands twice the last value counts, once")
  func duplicateProperties() {
    let fifty = object(ofKeys: 50)
    func more(_ members: String) -> String { fifty.dropLast() + "," + members + "}" }
    check(Rule("properties", more(#""k0":2,"\u006b1":3,"k49":"x""#)))
    check(Rule("properties", more(#""k0":2,"k50":3"#), .tooManyProperties))
    check(Rule("properties", more(#""k0":[]"#), .invalidProperties))
    check(Rule("properties", #"{"a":[1],"a":1}"#))
    check(Rule("properties", #"{"a":[1],"\u0061":1,"b":{"a":2},"b":2}"#))
    check(Rule("properties", #"{"a":[1],"b":1}"#, .invalidProperties))
    check(Rule("properties", #"{"a":1,"a":{}}"#, .invalidProperties))
    check(Rule("properties", "{\"a\":\(literal("v", 1025)),\"a\":\"v\"}"))
    check(Rule("properties", "{\"a\":\"v\",\"a\":\(literal("v", 1025))}", .invalidProperties))
    check(Rule("properties", #"{"":1,"":2}"#, .invalidProperties))
  }

  @Test("messages say what would be right and hold nothing of the event")
  func messages() {
    for violation in [
      EventText().with("name", #""s3cret word""#), EventText().with("event_id", #""s3cret""#),
      EventText().with("properties", #"{"s3cret":["s3cret"]}"#), EventText().with("occurred_at", #""s3cret""#),
    ] {
      let message = violation.rejection?.message ?? ""
      #expect(message.contains("must"))
      #expect(!message.contains("s3cret"))
      #expect(message.utf8.count <= 160)
    }
  }

  private func check(_ rule: Rule, _ location: SourceLocation = #_sourceLocation) {
    let event = EventText().with(rule.member, rule.value)
    let reading = read(events: [event.text])
    #expect(reading.error == nil, sourceLocation: location)
    #expect(reading.codes == (rule.code.map { [$0] } ?? []), sourceLocation: location)
    #expect(reading.accepted.count == (rule.code == nil ? 1 : 0), sourceLocation: location)
  }
}
