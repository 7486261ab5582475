import Clocks
import EventLog
import EventsAPI
import Testing

@testable import Dialects

@Suite("A Voidhash batch")
struct VoidhashReaderTests {
  private typealias Samples = VoidhashSamples

  @Test("that an SDK sent is taken apart into its events, each byte as captured", arguments: Samples.captures)
  func captures(name: String, count: Int) throws {
    let body = Samples.body(ofCapture: name)
    let reading = VoidhashReading(body)
    #expect(reading.fault == nil)
    #expect(reading.key == .key("vh_pk_test123"))
    #expect(reading.texts.count == count)
    // (The SDK leaves no white space between events.)
    let array = #""events":[\#(reading.texts.joined(separator: ","))]"#
    #expect(String(decoding: body, as: UTF8.self).contains(array))
    #expect(reading.answer == #"{"accepted":\#(count),"rejected":0}"#)
    #expect(Set(reading.accepted.map(\.idHigh)).count == count)
    #expect(reading.persons.allSatisfy { $0 == "vh:anon:k2j4h5g6f7" })
    #expect(reading.names.allSatisfy { $0.hasPrefix("event_") || $0 == "upgrade_button_clicked" })
  }

  @Test("notes of each event what the log wants to know")
  func index() throws {
    let reader = IncomingVoidhash().makeReader()
    let first = Samples.event()
    let second = Samples.event(["uuid": #""no uuid""#, "distinct_id": #""us\u0065r-7""#])
    let text = Samples.batch([first, " " + second], more: "")
    let reading = VoidhashReading(text, by: reader)
    try #require(reading.accepted.count == 2)
    let (one, other) = (reading.accepted[0], reading.accepted[1])
    #expect(reading.texts == [first, second])
    #expect((one.index, other.index) == (0, 1))
    #expect(one.eventID == "00c0acf9-50f3-4809-a155-eb1c1e873a56")
    let ids = EventIDText.numbers(ofAny: "no uuid")
    #expect((other.idHigh, other.idLow) == (ids.high, ids.low))
    #expect(one.occurredAt.description == "2026-11-30T06:17:17.895Z")
    let stamp = Array(first.utf8)[one.occurredAtOffset...]
    #expect(stamp.starts(with: #""2026-11-30T06:17:17.895Z""#.utf8))
    #expect(reading.names == ["opened", "opened"])
    #expect(reading.persons == ["vh:anon:k2j4h5g6f7", "user-7"])
    #expect(reading.users == [nil, "user-7"])
    #expect(!one.hasUser && one.userHash == 0 && one.installHash != 0)
    #expect(other.hasUser && other.userHash == other.installHash && other.installHash != one.installHash)
    #expect(!one.isClamped && !one.isOtherForm && !one.hasLineBreaks)
    #expect(reader.envelope.isEmpty && reader.clampedCount == 0 && reader.kind == .event)
  }

  @Test("may hold events of any time: none is clamped")
  func times() {
    let texts = [
      "1999-01-01T00:00:00Z", "9999-12-31 23:59:59+0100", "2026-11-30T06:17Z", "2026-11-30T06:17:17,5+05:30",
    ]
    let reading = VoidhashReading(Samples.batch(texts.map { Samples.event(["timestamp": "\"\($0)\""]) }))
    #expect(reading.accepted.count == 4)
    #expect(reading.accepted.allSatisfy { !$0.isClamped })
  }

  @Test(
    "with an event that breaks a rule is refused as a whole, and told which event, which member and what would be right",
    arguments: VoidhashRule.broken)
  func rules(rule: VoidhashRule) {
    let reading = VoidhashReading(Samples.batch([Samples.event(), Samples.event(rule.changed)]))
    #expect(reading.fault?.status == 400)
    #expect(reading.fault?.message == "events[1].\(rule.says) Nothing of this request was stored.")
    #expect(reading.accepted.isEmpty && reading.rejectedCodes.isEmpty)
    #expect(reading.key == .key("vh_pk_1"), "who sends it is known all the same")
  }

  @Test("with an event at the rules' edges is taken", arguments: VoidhashRule.kept)
  func edges(changed: [String: String]) {
    let event = Samples.event(changed)
    let reading = VoidhashReading(Samples.batch([event]))
    #expect(reading.fault == nil)
    #expect(reading.texts == [event])
  }

  @Test("with an element that is no object is refused", arguments: ["7", "null", "[]", "\"a\"", "true"])
  func noObject(element: String) {
    let reading = VoidhashReading(Samples.batch([element]))
    #expect(
      reading.fault?.message == "events[0] must be a JSON object. Nothing of this request was stored.")
  }

  @Test("holds 1 to 100 events", arguments: [(0, false), (1, true), (100, true), (101, false), (3000, false)])
  func counts(count: Int, isTaken: Bool) {
    let reading = VoidhashReading(Samples.batch(Array(repeating: Samples.event(["properties": "{}"]), count: count)))
    #expect((reading.fault == nil) == isTaken)
    #expect(reading.accepted.count == (isTaken ? count : 0))
    guard !isTaken else { return }
    #expect(reading.fault?.status == 400)
    #expect(
      reading.fault?.message
        == "events must hold 1 to 100 events, and holds \(count). Nothing of this request was stored.")
  }

  @Test(
    "needs no sent_at, but one that is there must be a moment",
    arguments: [
      ("", true), (#","sent_at":null"#, true), (#","sent_at":"2026-11-30T06:17:18+01:00""#, true),
      (#","sent_at":5"#, false), (#","sent_at":"now""#, false), (#","sent_at":{}"#, false), (#","sent_at":"""#, false),
    ])
  func sentAt(more: String, isTaken: Bool) {
    let fault = VoidhashReading(Samples.batch([Samples.event()], more: more)).fault
    #expect((fault == nil) == isTaken)
    guard !isTaken else { return }
    #expect(
      fault?.message
        == "sent_at must be a moment in ISO 8601 with its time zone, such as 2026-11-30T06:17:17.895Z, or be left out."
        + " Nothing of this request was stored.")
  }

  @Test(
    "that is broken is refused, and nobody knows whose it is",
    arguments: [
      "", "  ", "[]", "{", "{}", "null", #"{"events":{}}"#, #"{"events":null,"token":"vh_pk_1"}"#,
      #"{"events":[],"token":"vh_pk_1"} {}"#, #"{"token":"vh_pk_1"}"#, "\u{FEFF}{\"events\":[]}",
      #"{"events":[{"a":NaN}]}"#,
      "{\"events\":[{\"a\":\"\u{01}\"}]}", #"{"events":[{"a":"\q"}]}"#, String(repeating: "[", count: 1 << 20),
      #"{"events":["# + String(repeating: "{\"a\":", count: 100_000),
    ])
  func broken(body: String) {
    let reading = VoidhashReading(body)
    #expect(reading.fault?.status == 400)
    #expect(reading.key == .unknown)
    #expect(reading.accepted.isEmpty)
  }

  @Test("that breaks off anywhere is refused")
  func brokenOff() {
    let body = Samples.body(ofCapture: "voidhash-swift-basic-000")
    let reader = IncomingVoidhash().makeReader()
    let faults = body.indices.map { VoidhashReading(Array(body[..<$0]), by: reader).fault?.status }
    #expect(faults.count == 1210 && faults.allSatisfy { $0 == 400 })
  }

  @Test(
    "that is no UTF-8 is refused", arguments: [[0xFF], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xE2, 0x82]] as [[UInt8]])
  func utf8(bytes: [UInt8]) {
    let (before, after) = (Array(#"{"events":[],"x":""#.utf8), Array("\"}".utf8))
    #expect(VoidhashReading(before + bytes + after).fault?.status == 400)
  }

  @Test("keeps what JSON allows as it came: depth, digits, escapes, members that stand twice or that nobody knows")
  func odd() {
    let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
    let odd = [
      Samples.event(["properties": #"{"n":9007199254740993,"e":1e999999,"z":-0,"d":\#(deep)}"#]),
      Samples.event(["context": #"{"\u0000":"\ud800","\/":"\/"}"#]),
      #"{"uuid":"first",  "more":[1 , 2],"# + Samples.event(["event": #""\ud83d\ude00""#]).dropFirst(),
    ]
    let reading = VoidhashReading(Samples.batch(odd))
    #expect(reading.fault == nil)
    #expect(reading.texts == odd)
    #expect(reading.names.last == "😀")
    #expect(reading.accepted.last?.eventID == "00c0acf9-50f3-4809-a155-eb1c1e873a56", "the last of two counts")
  }

  @Test("tells a line break between an event's tokens")
  func lineBreaks() {
    let reading = VoidhashReading(Samples.batch([Samples.event(["context": "{\n}"]), Samples.event()]))
    #expect(reading.accepted.map(\.hasLineBreaks) == [true, false])
  }

  @Test("leaves nothing behind for the next one")
  func again() {
    let reader = IncomingVoidhash().makeReader()
    let denied = ["x-analytics-consent": "denied"]
    _ = VoidhashReading(Samples.batch([Samples.event(), Samples.event()]), headers: denied, by: reader)
    let refused = VoidhashReading(Samples.batch([Samples.event(), "7"]), by: reader)
    #expect(refused.accepted.isEmpty && refused.rejectedCodes.isEmpty)
    let broken = VoidhashReading("{", by: reader)
    #expect(broken.key == .unknown && broken.accepted.isEmpty)
    let good = VoidhashReading(Samples.batch([Samples.event()]), by: reader)
    #expect(good.answer == #"{"accepted":1,"rejected":0}"#)
  }

  @Test("comes out of a record as it went in, however old")
  func record() throws {
    let reader = IncomingVoidhash().makeReader()
    func read(_ text: String, _ kind: EventKind = .event) -> AcceptedEvent? {
      Padded(text).use { reader.readRecord($0, kind: kind, receivedAt: Timestamp(milliseconds: 0)) }
    }
    let event = Samples.event(["timestamp": #""1999-01-01T00:00:00Z""#])
    var asRead = try #require(VoidhashReading(Samples.batch([event])).accepted.first)
    asRead.offset = 0
    #expect(read(event) == asRead)
    #expect(read(event, .identify) == nil)
    #expect(read(Samples.event(["uuid": ""])) == nil)
    #expect(read("7") == nil)
  }
}
