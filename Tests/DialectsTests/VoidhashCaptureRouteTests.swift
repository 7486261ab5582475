import EventsAPI
import JSON
import Testing

@testable import Dialects

@Suite("A Voidhash capture")
struct VoidhashCaptureRouteTests {
  private typealias Samples = VoidhashSamples

  private func read(_ body: String, headers: [String: String] = [:]) -> VoidhashReading {
    VoidhashReading(body, route: IncomingVoidhash.capture, headers: headers)
  }

  /// An event's members with others before, among and behind them.
  private func flat(_ first: String, _ last: String, of event: String = Samples.event()) -> String {
    "{" + first + event.dropFirst().dropLast() + last + "}"
  }

  @Test("brings one event, which is stored without the key and the moment it was sent")
  func one() throws {
    let event = Samples.event()
    let body = flat(#""token":"vh_pk_1","#, #","sent_at":"2026-11-30T06:17:18Z""#)
    let reading = read(body)
    #expect(reading.fault == nil)
    #expect(reading.key == .key("vh_pk_1"))
    #expect(reading.texts == [event])
    #expect(reading.names == ["opened"])
    #expect(reading.persons == ["vh:anon:k2j4h5g6f7"])
    #expect(reading.answer == #"{"accepted":1,"rejected":0}"#)
    var same = try #require(VoidhashReading(Samples.batch([event])).accepted.first)
    same.offset = 0
    #expect(reading.accepted == [same])
  }

  @Test(
    "loses these two wherever they stand and however they are written, and nothing else",
    arguments: [
      (#"{"token":"k",A}"#, "{A}"), (#"{A,"token":"k"}"#, "{A}"), (#"{"sent_at":null,A,"token":""}"#, "{A}"),
      (#"{"token":"k","sent_at":null,A}"#, "{A}"), (#"{A,"sent_at":null,"token":"k"}"#, "{A}"),
      (#"{A,"token":"k","b":[1 ,2]}"#, #"{A,"b":[1 ,2]}"#), (#"{ A , "token" : "k" }"#, "{ A  }"),
      ("{\n\t\"token\" :\r\n\"k\" ,\n\tA\n}", "{\n\tA\n}"), (#"{A,"\u0074oken":"\"}, k"}"#, "{A}"),
      (#"{A,"b":{"token":"k","sent_at":1}}"#, #"{A,"b":{"token":"k","sent_at":1}}"#), (#"{A}"#, "{A}"),
      (#"{"Token":"k", A,"sent_at":null , "tokens":1}"#, #"{"Token":"k", A,"tokens":1}"#),
      (#"  {"token":"k",A}  "#, "{A}"), ("\n{ A\t}\n", "{ A\t}"),
    ])
  func cuts(body: String, stored: String) {
    let members = String(Samples.event().dropFirst().dropLast())
    let reading = read(body.replacing("A", with: members))
    #expect(reading.fault == nil)
    #expect(reading.texts == [stored.replacing("A", with: members)])
  }

  @Test("loses nothing but these two, whatever stands around them", arguments: 1...50)
  func anyObject(round: Int) throws {
    func blanks() -> String { String((0..<Int.random(in: 0...2)).map { _ in " \n\t\r".randomElement()! }) }
    var members = [(#""token""#, #""vh_pk_1""#), (#""sent_at""#, "null"), (#""tok\u0065ns""#, #"[",",{"token":"}"}]"#)]
    members += (0..<Int.random(in: 0...3)).map { ("\"\($0)\"", ["39.990", #"" , }\"""#, "{}", "[ 1 , 2 ]"][$0]) }
    members += [(#""uuid""#, #""u""#), (#""event""#, #""e""#), (#""distinct_id""#, #""d""#)]
    members += [(#""properties""#, "{}"), (#""context""#, "{}"), (#""timestamp""#, #""2026-11-30T06:17:17Z""#)]
    members.shuffle()
    let written = members.map { blanks() + $0.0 + blanks() + ":" + blanks() + $0.1 + blanks() }
    let reading = read(blanks() + "{" + written.joined(separator: ",") + "}" + blanks())
    let stored = try #require(reading.texts.first)
    let left = members.filter { $0.0 != #""token""# && $0.0 != #""sent_at""# }
    let parsed = try JSONValue(parsing: Array(stored.utf8))
    #expect(try parsed == JSONValue(parsing: Array("{\(left.map { "\($0.0):\($0.1)" }.joined(separator: ","))}".utf8)))
    for member in left { #expect(stored.contains(member.0) && stored.contains(member.1)) }
  }

  @Test("is refused when one of these two stands in it twice, so that no key stays behind")
  func twice() {
    for more in [#","token":"vh_pk_2""#, #","\u0074oken":"vh_pk_2""#] {
      let reading = read(flat(#""token":"vh_pk_1","#, more))
      #expect(reading.fault?.status == 400)
      #expect(reading.fault?.message.contains("twice") == true)
      #expect(reading.accepted.isEmpty)
    }
    #expect(read(flat(#""sent_at":null,"#, #","sent_at":null"#)).fault?.status == 400)
  }

  @Test("keeps the rules of every event, and is told which member is wrong", arguments: VoidhashRule.broken)
  func rules(rule: VoidhashRule) {
    for body in [flat(#""token":"vh_pk_1","#, "", of: Samples.event(rule.changed)), Samples.event(rule.changed)] {
      let reading = read(body)
      #expect(reading.fault?.status == 400)
      #expect(reading.fault?.message == "\(rule.says) Nothing of this request was stored.")
      #expect(reading.accepted.isEmpty)
    }
  }

  @Test("must be JSON, and an object", arguments: ["", "[]", "{", "7", "{} {}", #"{"uuid":}"#])
  func broken(body: String) {
    let reading = read(body)
    #expect(reading.fault?.status == 400)
    #expect(reading.key == .unknown)
  }

  @Test("of nothing but a key is no event")
  func onlyKey() {
    for body in [#"{"token":"k"}"#, #"{ "token":"k","sent_at":null }"#, "{}"] {
      #expect(
        read(body).fault?.message
          == "uuid must be a string of 1 to 256 characters; it is missing. Nothing of this request was stored.")
    }
  }

  @Test("that is a batch is told so by its first missing member, and a batch that is a capture by its missing events")
  func otherRoute() {
    #expect(read(Samples.batch([Samples.event()])).fault?.message.hasPrefix("uuid must be") == true)
    #expect(VoidhashReading(Samples.event()).fault?.message.contains(#"no "events""#) == true)
  }

  @Test("may be as long as a body may")
  func long() {
    let room =
      VoidhashLimits.bodyBytesMax
      - flat(#""token":"vh_pk_1","#, "", of: Samples.event(["context": "{\"a\":\"\"}"])).utf8.count
    let event = Samples.event(["context": "{\"a\":\"\(String(repeating: "x", count: room))\"}"])
    #expect(read(flat(#""token":"vh_pk_1","#, "", of: event)).texts == [event])
    #expect(read(flat(#""token":"vh_pk_12","#, "", of: event)).fault?.status == 413)
  }
}
