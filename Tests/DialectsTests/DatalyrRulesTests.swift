import EventsAPI
import Testing

@testable import Dialects

/// A value that a member may not have, and what a sender is told of it.
private struct BadValue: Sendable, CustomTestStringConvertible {
  var member: DatalyrForm.Member
  /// Nil: the member is missing.
  var json: String?
  var told: String

  var testDescription: String { "\(member) \(json?.prefix(20) ?? "missing")" }

  private static func texts(_ member: DatalyrForm.Member, _ max: Int, _ wanted: String) -> [BadValue] {
    let kinds: [(String?, String)] = [
      (nil, "missing"), ("null", "null"), ("true", "a boolean"), ("-1.5", "a number"), ("[]", "an array"),
      ("{}", "an object"), ("\"\"", "empty"), ("\"\(String(repeating: "x", count: max + 1))\"", "longer"),
      ("\"\(String(repeating: "\\u00e9", count: max + 1))\"", "longer"),
    ]
    return kinds.map { BadValue(member: member, json: $0.0, told: "must be \(wanted); it is \($0.1).") }
  }

  private static func objects(_ member: DatalyrForm.Member) -> [BadValue] {
    let kinds: [(String?, String)] = [
      (nil, "missing"), ("null", "null"), ("false", "a boolean"), ("0", "a number"), ("[{}]", "an array"),
      ("\"{}\"", "a string"),
    ]
    return kinds.map { BadValue(member: member, json: $0.0, told: "must be an object; it is \($0.1).") }
  }

  private static var times: [BadValue] {
    let wanted = "must be an ISO 8601 date and time with a time zone, as 2026-11-30T06:12:50.651Z"
    let kinds: [(String?, String)] = [
      (nil, "missing"), ("null", "null"), ("1792757071512", "a number"), ("{}", "an object"), ("\"\"", "another text"),
      ("\"2026-11-30\"", "another text"), ("\"2026-11-30T06:12:50\"", "another text"),
      ("\"2026-02-30T06:12:50Z\"", "another text"), ("\"yesterday\"", "another text"),
    ]
    return kinds.map { BadValue(member: .time, json: $0.0, told: "\(wanted); it is \($0.1).") }
  }

  static let all =
    texts(.name, 100, "a string of 1 to 100 characters")
    + texts(.id, 256, "a string of 1 to 256 characters")
    + texts(.anonymousID, 256, "a string of 1 to 256 characters")
    + texts(.userID, 256, "a string of 1 to 256 characters, empty, null or left out").filter {
      $0.json != nil && $0.json != "null" && $0.json != #""""#
    } + times + objects(.data) + objects(.context)
}

@Suite("Datalyr: the rules for an event")
struct DatalyrRulesTests {
  private let hall = DatalyrHall()

  @Test("refuse what a member may not be, name it, and say what would be right", arguments: BadValue.all)
  private func bad(value: BadValue) {
    let taken = hall.take(DatalyrForm.track.event(value.member, value.json))
    #expect(taken.fault?.status == 400)
    #expect(taken.fault?.code == "invalid_event")
    #expect(taken.fault?.message == "\"\(DatalyrForm.track.name(of: value.member))\" \(value.told)")
    #expect(taken.events.isEmpty)
  }

  @Test("are the same in a web batch, which they refuse as a whole, naming the event", arguments: BadValue.all)
  private func badInBatch(value: BadValue) {
    guard DatalyrForm.web.has(value.member) else { return }
    let good = DatalyrForm.web.event()
    let taken = hall.take(
      datalyrBatch([good, DatalyrForm.web.event(value.member, value.json), good]), at: "/")
    #expect(taken.fault?.status == 400)
    #expect(taken.fault?.code == "invalid_event")
    #expect(taken.fault?.message == "\"events[1].\(DatalyrForm.web.name(of: value.member))\" \(value.told)")
    #expect(taken.events.isEmpty)
    #expect(taken.key == .key("ws_1"))
  }

  @Test(
    "let in what the documents allow",
    arguments: [
      (DatalyrForm.Member.name, #""$identify""#), (.name, #""$""#), (.name, #""pageview""#), (.name, #"" ""#),
      (.name, "\"\(String(repeating: "x", count: 100))\""),
      (.name, "\"\(String(repeating: "\\ud83d\\ude00", count: 100))\""),
      (.name, "\"\(String(repeating: "é", count: 100))\""),
      (.id, #""1""#), (.id, "\"\(String(repeating: "x", count: 256))\""), (.id, #""stripe evt/1?ü""#),
      (.anonymousID, #""not anon""#), (.userID, "null"), (.userID, #""new user""#),
      (.time, #""2026-11-30T06:12:50.651+0000""#), (.time, #""2026-11-30T06:12:50+01:00""#),
      (.time, #""2026-11-30 06:12Z""#), (.time, #""1999-01-01T00:00:00Z""#),
      (.data, "{}"), (.data, #"{"a":{"b":[{"c":null}]}}"#), (.context, #"{"library":{}}"#),
    ])
  func good(member: DatalyrForm.Member, json: String) {
    for form in [DatalyrForm.track, .web] where form.has(member) {
      let event = form.event([member: json])
      let taken = form.has(.workspace) ? hall.take(datalyrBatch([event]), at: "/") : hall.take(event)
      #expect(taken.fault == nil)
      #expect(taken.events == [event])
    }
  }

  @Test("take an event without a user for one of the person alone")
  func user() {
    for user in [nil, "null", #""""#] as [String?] {
      let taken = hall.take(DatalyrForm.track.event(.userID, user))
      #expect(taken.accepted.first?.hasUser == false)
      #expect(taken.accepted.first?.userHash == 0)
      #expect(taken.accepted.first?.installHash != 0)
    }
    #expect(hall.take(DatalyrForm.track.event()).accepted.first?.hasUser == true)
  }

  @Test("order by the person: one that is written otherwise is the same")
  func person() {
    let plain = hall.take(DatalyrForm.track.event([.anonymousID: #""anon_1""#])).accepted.first
    let escaped = hall.take(DatalyrForm.track.event([.anonymousID: #""anon\u005f1""#])).accepted.first
    #expect(plain?.installHash == escaped?.installHash)
    let other = hall.take(DatalyrForm.track.event([.anonymousID: #""anon_2""#])).accepted.first
    #expect(plain?.installHash != other?.installHash)
  }

  @Test("let members in that the documents don't name, and keep them")
  func unknownMembers() {
    let event = DatalyrForm.track.event(more: #","x":[1e999,"\ud800"],"event_name":7"#)
    #expect(hall.take(event).events == [event])
  }

  @Test("allow an event of 65,536 bytes, and no longer one")
  func size() {
    func event(_ form: DatalyrForm, bytes: Int) -> String {
      let rest = form.event(more: #","x":"""#).utf8.count
      return form.event(more: #","x":"\#(String(repeating: "y", count: bytes - rest))""#)
    }
    #expect(hall.take(event(.track, bytes: 65_536)).fault == nil)
    #expect(hall.take(event(.track, bytes: 65_537)).fault?.status == 413)
    let good = DatalyrForm.web.event()
    #expect(hall.take(datalyrBatch([good, event(.web, bytes: 65_536)]), at: "/").events.count == 2)
    let fault = hall.take(datalyrBatch([good, event(.web, bytes: 65_537)]), at: "/").fault
    #expect(fault?.status == 413)
    #expect(fault?.code == "payload_too_large")
    #expect(fault?.message == "\"events[1]\" is over 65536 bytes, which is the most that an event may have.")
  }
}
