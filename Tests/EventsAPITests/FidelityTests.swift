import Testing

@testable import EventsAPI

@Suite("What an event's bytes are")
struct FidelityTests {
  @Test(
    "are the sender's, byte by byte",
    arguments: [
      #"{"big":9007199254740993,"small":39.990,"exponent":1E5,"zero":-0,"long":0.1000000000000000055511151231257827}"#,
      #"{"a":"\u0131\/\"\\\b\f\n\r\t","b":"ı€👍","\u0063":"\ud83d\udc4d"}"#, #"{"z":1,"a":2,"m":3,"z":4}"#,
      #"{"lone":"\ud800","nul":"\u0000","del":""}"#, "{ \"a\" :\t1 , \"b\"\r\n:\n2 }",
    ])
  func bytes(_ properties: String) {
    let event = EventText().with("properties", properties).with("unknown", #"{"deep":[[{"a":[1E5,39.990]}]],"":null}"#)
    let turned = "{\(event.members.reversed().map { " \"\($0.key)\" : \($0.value)" }.joined(separator: " , ")) }"
    let reading = read(" { \"x\":[1] , \"events\" : [ \(event.text) , \(turned)\n,\(event.text)] , \"y\" : {} } \n")
    #expect(reading.error == nil)
    #expect(reading.rejected == [])
    #expect(reading.texts == [event.text, turned, event.text])
  }

  @Test("say where their members stand")
  func offsets() throws {
    let text = EventText().text
    let body = Array(" {\"events\" : [ \(text)]}".utf8)
    let event = try #require(read(body).accepted.first)
    withPadded(body) { bytes in
      let own = event.bytes(in: bytes)
      for (offset, value) in [
        (event.nameOffset, #""purchase_completed""#), (event.occurredAtOffset, #""2026-10-23T12:04:31.512Z""#),
        (event.anonymousIDOffset, #""C5E1B0B2-4F7A-4E0F-9C1D-2A6B7E8F9012""#), (event.userIDOffset, #""u_81723""#),
      ] {
        #expect(String(decoding: own[offset..<offset + value.utf8.count], as: UTF8.self) == value)
      }
      #expect(event.name(in: bytes) == "purchase_completed")
      #expect(event.anonymousID(in: bytes) == "C5E1B0B2-4F7A-4E0F-9C1D-2A6B7E8F9012")
      #expect(event.userID(in: bytes) == "u_81723")
    }
    #expect(event.idHigh == 0x0b6f_6a3e_3c3e_4d8a)
    #expect(event.idLow == 0x8f6e_1f9b_8a2c_7d10)
  }

  @Test("of texts with escapes the unescaped are given")
  func escapedTexts() throws {
    let event = EventText().with("name", #""\u0061.b\u003a""#).with("anonymous_id", #""\ud83d\udc4d\"\\\/\n\ud800é""#)
      .with("user_id", "null")
    let body = Array("{\"events\":[\(event.text)]}".utf8)
    let accepted = try #require(read(body).accepted.first)
    withPadded(body) { bytes in
      #expect(accepted.name(in: bytes) == "a.b:")
      #expect(accepted.anonymousID(in: bytes) == "👍\"\\/\n\u{FFFD}é")
      #expect(accepted.userID(in: bytes) == nil)
    }
    #expect(!accepted.hasUser)
    #expect(accepted.userHash == 0)
    #expect(accepted.userIDOffset == 0)
  }

  @Test(
    "event_id keeps the case of each of its letters",
    arguments: [
      "0b6f6a3e-3c3e-4d8a-8f6e-1f9b8a2c7d10", "0B6F6A3E-3C3E-4D8A-8F6E-1F9B8A2C7D10",
      "aBcDeFaB-CdEf-aBcD-eFAb-cdEFaBCdefAB",
      "00000000-0000-0000-0000-00000000000F", "F0000000-0000-0000-0000-000000000000",
    ])
  func idCase(_ id: String) throws {
    let event = try #require(read(events: [EventText().with("event_id", "\"\(id)\"").text]).accepted.first)
    #expect(event.eventID == id)
    let lower = try #require(read(events: [EventText().with("event_id", "\"\(id.lowercased())\"").text]).accepted.first)
    #expect((event.idHigh, event.idLow) == (lower.idHigh, lower.idLow))
  }

  @Test("have line breaks or not", arguments: [("\n", true), ("\r", true), (" ", false), ("\t", false)])
  func lineBreaks(_ space: String, _ hasBreaks: Bool) {
    let plain = EventText().with("properties", #"{"a":"\n\r"}"#).text
    let inside = plain.replacing(":", with: "\(space):", maxReplacements: 1)
    let reading = read(events: [plain, "\n\(plain)\r", inside, plain, inside])
    #expect(reading.accepted.map(\.hasLineBreaks) == [false, false, hasBreaks, false, hasBreaks])
  }

  @Test("ids hash the same however they are escaped, and differently when they differ")
  func hashes() throws {
    func hash(_ id: String) throws -> UInt64 {
      try #require(read(events: [EventText().with("anonymous_id", id).text]).accepted.first).installHash
    }
    #expect(try hash(#""ab/ı👍""#) == hash(#""\u0061b\/\u0131\ud83d\uDC4D""#))
    #expect(try hash(#""ab""#) != hash(#""aB""#))
    #expect(try hash(#""\ud800""#) != hash(#""\ud801""#))
    #expect(try hash(#""\u0000""#) != hash(#""\u0000\u0000""#))
    let event = try #require(
      read(events: [EventText().with("user_id", EventText().members[2].value).text]).accepted.first)
    #expect(event.installHash == event.userHash)
  }
}
