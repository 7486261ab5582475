import Testing

@testable import HTTPClient

@Suite("This machine as a host")
struct LoopbackTests {
  @Test(
    "is known in a URL",
    arguments: [
      "http://127.0.0.1:8787/v1", "https://localhost", "http://LOCALHOST:1?x", "http://[::1]:9/",
      "http://u:p@127.0.0.1/",
      "http://127.255.0.9", "http://a.localhost/",
    ])
  func known(_ url: String) { #expect(Loopback.isHost(ofURL: url)) }

  @Test(
    "is not any other host",
    arguments: [
      "http://127.0.0.1.example.com/", "http://example.com/127.0.0.1", "http://128.0.0.1", "http://127.0.0.256",
      "http://127.0.0", "http://[::2]/", "http://localhost.example.com", "http://127.0.0.1@example.com/", "127.0.0.1",
      "",
    ])
  func others(_ url: String) { #expect(!Loopback.isHost(ofURL: url)) }
}
