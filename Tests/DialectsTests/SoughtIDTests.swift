import Testing

@testable import Dialects

@Suite("An id that is looked for")
struct SoughtIDTests {
  private let text = "0d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30"

  private func occurs(_ id: String, _ line: String) throws -> Bool {
    let sought = try #require(SoughtID(id))
    return Array(line.utf8).withUnsafeBytes { sought.occurs(in: $0) }
  }

  @Test("has 1 to 256 characters")
  func lengths() {
    #expect(SoughtID("") == nil)
    #expect(SoughtID(String(repeating: "é", count: 256)) != nil)
    #expect(SoughtID(String(repeating: "x", count: 257)) == nil)
  }

  @Test("is a UUID in any case, and any other id exactly as it was sent")
  func isID() throws {
    let uuid = try #require(SoughtID(text.uppercased()))
    #expect(uuid.text == text && uuid.isID(text) && uuid.isID(text.uppercased()))
    #expect(!uuid.isID("0d9f6a3e") && !uuid.isID(""))
    let order = try #require(SoughtID("Order-1"))
    #expect(order.isID("Order-1") && !order.isID("order-1") && !order.isID("Order-10"))
    // Two ways to write one letter are two ids.
    #expect(try !#require(SoughtID("caf\u{E9}")).isID("cafe\u{301}"))
  }

  @Test("is found in a line whatever stands around it, and no other is")
  func uuid() throws {
    let other = "1d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30"
    #expect(try occurs(text, #"{"event_id":"\#(text)"}"#))
    #expect(
      try occurs(text, #"{"occurred_at":1,"an_event_id":2,"event_id" : "\#(text.uppercased())","x":1}"#))
    #expect(try occurs(text, #"{"event_id":"\#(other)","event":{"event_id":"\#(text)"}}"#))
    #expect(try !occurs(text, #"{"event_id":"\#(other)","x":"\#(text)"}"#))
    #expect(try !occurs(text, #"{"event_id":"\#(text)0"}"#))
    for line in [#"{"event_id":"\#(text.dropLast())"#, "_", #"_id"event_id""#, ""] {
      #expect(try !occurs(text, line))
    }
  }

  @Test(
    "is found by the name that each protocol has for it", arguments: DialectRegistry.all.flatMap(\.incoming.idNames))
  func names(name: String) throws {
    for id in ["order-1", "a b", "0"] {
      #expect(try occurs(id, #"{"x":{},"\#(name)":"\#(id)","n":1}"#))
      #expect(try occurs(id, "{\"\(name)\" :\t\"\(id)\"}"))
      #expect(try !occurs(id, #"{"x":{},"\#(name)":"\#(id)0","n":"\#(id)"}"#))
      #expect(try !occurs(id, #"{"x\#(name)":"\#(id)"}"#))
      #expect(try !occurs(id, #"{"\#(name)":7,"y":"\#(id)"}"#))
    }
  }

  @Test("is the one of the event's own form, where it has a member besides that is called as the other form's")
  func forms() throws {
    let web = #""event_name":"pv","event_id":"web-1","event_data":{}"#
    let track = #""event":"buy","eventId":"track-1","properties":{}"#
    let deep = #","deep":\#(String(repeating: "[", count: 100) + String(repeating: "]", count: 100))"#
    for (event, id) in [
      (#"{"eventId":"other",\#(web)}"#, "web-1"), (#"{\#(web),"event":"other"}"#, "web-1"),
      (#"{"event_id":"other",\#(track)}"#, "track-1"), (#"{\#(track),"event_name":"other"}"#, "track-1"),
      (#"{"eventId":7,\#(web)}"#, "web-1"), (#"{"eventId":"track-1"}"#, "track-1"), (#"{"event_id":"web-1"}"#, "web-1"),
    ] {
      let (sought, other) = (try #require(SoughtID(id)), try #require(SoughtID("other")))
      for text in [event, String(event.dropLast()) + deep + "}"] {
        Array(text.utf8).withUnsafeBytes { bytes in
          #expect(Datalyr().eventID(of: bytes) == id, "\(text)")
          #expect(sought.isID(ofEvent: bytes, dialect: Datalyr().number))
          #expect(!other.isID(ofEvent: bytes, dialect: Datalyr().number))
        }
      }
    }
  }

  @Test("is looked for in a record by its own protocol's name alone")
  func records() throws {
    func record(_ protocolName: String, _ event: String) -> String {
      #"{"received_at":"2026-10-23T06:04:31.512Z","relay":"r","app":"a\",\"kind\":","kind":"event"\#(protocolName),"seq":1,"#
        + #""event":\#(event)}"#
    }
    for dialect in DialectRegistry.all {
      for name in dialect.incoming.idNames {
        #expect(try occurs("order-1", record(#","protocol":"\#(dialect.name)""#, #"{"\#(name)":"order-1"}"#)))
      }
      #expect(try !occurs("order-1", record(#","protocol":"\#(dialect.name)""#, #"{"other_id":"order-1"}"#)))
    }
    // As older programs wrote them: whatever the event says of a protocol.
    #expect(try occurs("order-1", record("", #"{"kind":"x","protocol":"datalyr","event_id":"order-1"}"#)))
    #expect(try !occurs("order-1", record("", #"{"eventId":"order-1"}"#)))
    #expect(try !occurs("order-1", record(#","protocol":"newer""#, #"{"event_id":"order-1"}"#)))
  }

  @Test("may stand behind escapes, in the name or in the id")
  func escapes() throws {
    #expect(try occurs("order-1", #"{"event\u005fid":"order-1"}"#))
    #expect(try occurs("order-1", #"{"event_id":"\u006frder-1"}"#))
    #expect(try occurs("a/b", #"{"event_id":"a\/b"}"#))
    #expect(try occurs("caf\u{E9}", #"{"event_id":"caf\u00e9"}"#))
    #expect(try occurs("quote\"", #"{"event_id":"quote\""}"#))
    #expect(try occurs(text, #"{"event_id":"\u0030d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30"}"#))
    #expect(try !occurs("order-1", #"{"event_id":"order-2","x":"\n"}"#))
  }

  @Test("is told by an event's own bytes, under its own protocol's name")
  func ofEvent() throws {
    let sought = try #require(SoughtID(text))
    func isID(_ event: String, _ dialect: UInt8) -> Bool {
      Array(event.utf8).withUnsafeBytes { sought.isID(ofEvent: $0, dialect: dialect) }
    }
    for dialect in DialectRegistry.all {
      for name in dialect.incoming.idNames {
        #expect(isID(#"{"\#(name)":"\#(text.uppercased())"}"#, dialect.number))
        #expect(isID(#"{"\#(name)":"x","\#(name)":"\#(text)"}"#, dialect.number), "the last of two counts")
        #expect(!isID(#"{"x\#(name)":"\#(text)"}"#, dialect.number))
        #expect(!isID(#"{"x":{"\#(name)":"\#(text)"}}"#, dialect.number))
      }
    }
    #expect(!isID(#"{"event_id":"\#(text)"}"#, 250), "nobody knows that protocol's names")
    #expect(!isID("no JSON", 0))
  }
}

@Suite("An event's id")
struct EventIDOfBytesTests {
  @Test("is read whatever else stands in the event that a sender may write")
  func odd() throws {
    for other in [#""x":"\ud800""#, #""x":"\u0000""#, #""x":1e400"#, #""x":123456789012345678901234567890"#] {
      let event = #"{"event_id":"order-1",\#(other)}"#
      #expect(Array(event.utf8).withUnsafeBytes { DialectRegistry.usual.eventID(of: $0) } == "order-1", "\(other)")
    }
    for text in ["", "nonsense", "{", "7"] {
      #expect(Array(text.utf8).withUnsafeBytes { DialectRegistry.usual.eventID(of: $0) } == nil)
    }
    let deep =
      #"{"event_id":"order-1","x":\#(String(repeating: "[", count: 500))\#(String(repeating: "]", count: 500))}"#
    #expect(Array(deep.utf8).withUnsafeBytes { DialectRegistry.usual.eventID(of: $0) } == "order-1")
  }
}
