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

  @Test("of other ids is a hash of all their bytes, and of a UUID what it is in any case")
  func any() throws {
    #expect(EventIDText.numbers(ofAny: text.uppercased()) == (0x0d9f_6a3e_5c1b_4f7a, 0x9e2d_8b4c_6f1a_2e30))
    let ids = ["", "order-1", "order-2", "Order-1", "1", text + "0", "\u{1F600}"]
    #expect(Set(ids.map { EventIDText.numbers(ofAny: $0).high }).count == ids.count)
    #expect(Set(ids.map { EventIDText.numbers(ofAny: $0).low }).count == ids.count)
  }
}
