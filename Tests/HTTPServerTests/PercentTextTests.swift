import Testing

@testable import HTTPServer

@Suite("A text in a URL's path")
struct PercentTextTests {
  @Test(
    "comes back as it was, and only plain characters stand as they are",
    arguments: [
      ("order-1._~", "order-1._~"), ("a/b?c#d", "a%2Fb%3Fc%23d"), ("caf\u{E9} %", "caf%C3%A9%20%25"), ("", ""),
      ("\u{1F600}\u{0}", "%F0%9F%98%80%00"),
    ])
  func roundTrip(text: String, encoded: String) {
    #expect(PercentText.encoded(text) == encoded)
    #expect(PercentText.decoded(encoded) == text)
    #expect(PercentText.decoded(encoded.lowercased()) == text.lowercased())
  }

  @Test(
    "is none when a percent sign stands alone or the bytes are no UTF-8", arguments: ["%", "%2", "%zz", "a%2", "%FF"])
  func wrong(text: String) { #expect(PercentText.decoded(text) == nil) }

  @Test("may hold what need not have been as it is") func lenient() {
    #expect(PercentText.decoded("a:b@c") == "a:b@c")
  }
}
