import Testing

@testable import EventsAPI

@Suite("An event's id as text")
struct EventIDTextTests {
  private let text = "0d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30"

  @Test("is read in any case, and nothing else is")
  func numbers() throws {
    let id = try #require(EventIDText.numbers(text))
    #expect(id == (0x0d9f_6a3e_5c1b_4f7a, 0x9e2d_8b4c_6f1a_2e30))
    #expect(try #require(EventIDText.numbers(text.uppercased())) == id)
    for wrong in [
      "", "12345", text + "0", String(text.dropLast()), "0d9f6a3e5c1b4f7a9e2d8b4c6f1a2e30----", "{\(text)}",
    ] {
      #expect(EventIDText.numbers(wrong) == nil, "\(wrong)")
    }
  }

  @Test("is found in a line whatever stands around it, and no other is")
  func occurs() throws {
    let id = try #require(EventIDText.numbers(text))
    let other = "1d9f6a3e-5c1b-4f7a-9e2d-8b4c6f1a2e30"
    func occurs(_ line: String) -> Bool { Array(line.utf8).withUnsafeBytes { EventIDText.occurs(id, in: $0) } }
    #expect(occurs(#"{"event_id":"\#(text)"}"#))
    #expect(occurs(#"{"occurred_at":1,"an_event_id":2,"event_id" : "\#(text.uppercased())","x":1}"#))
    #expect(occurs(#"{"event_id":"\#(other)","event":{"event_id":"\#(text)"}}"#))
    #expect(!occurs(#"{"event_id":"\#(other)","x":"\#(text)"}"#))
    #expect(
      !occurs(#"{"event_id":"\#(text.dropLast())"#) && !occurs(#"_"#) && !occurs(#"_id"event_id""#) && !occurs(""))
  }
}
