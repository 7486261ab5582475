import EventsAPI
import Testing

@testable import Relay

@Suite("A wish to drain")
struct DrainWishTests {
  @Test(
    "is read from the query",
    arguments: [
      (nil, .drain(.zero)), ("", .drain(.zero)), ("timeout=500ms", .drain(.milliseconds(500))),
      ("timeout=1m", .drain(.seconds(60))), ("stop", .stop),
    ] as [(String?, AdminHandler.DrainWish)])
  func read(query: String?, wish: AdminHandler.DrainWish) throws {
    #expect(try AdminHandler.DrainWish(query: query) == wish)
  }

  @Test("is refused with what would be right", arguments: ["timeout=", "timeout=61s", "timeout=2", "stop=1", "undo"])
  func refused(query: String) {
    let error = #expect(throws: APIError.self) { try AdminHandler.DrainWish(query: query) }
    #expect(error?.status == 400 && error?.message.contains("timeout, a duration such as 500ms") == true)
  }
}
