import Clocks
import Testing

@testable import Sinks

@Suite("A webhook's signature")
struct WebhookSignatureTests {
  private let body = Array(#"{"test": 2432232314}"#.utf8)
  private let moment = Timestamp(milliseconds: 1_614_265_330_999)

  private func headers(_ secrets: String...) throws -> [String] {
    let secrets = try secrets.map { try WebhookSecret($0) }
    return body.withUnsafeBytes {
      WebhookSignature.headers(id: "msg_p5jXN8AQM9LWM0D4loKWxJek", moment: moment, body: $0, secrets: secrets)
    }
  }

  @Test("is the specification's for a body, an id and a second")
  func known() throws {
    #expect(
      try headers("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") == [
        "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp: 1614265330",
        "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
      ])
  }

  @Test("is one for each secret while a secret rotates, and none without")
  func several() throws {
    let both = try headers("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_" + Base64.encode(1...32))
    let signatures = try #require(both.last).split(separator: " ")
    #expect(signatures.count == 3)
    #expect(signatures[1] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    #expect(signatures[2].hasPrefix("v1,") && signatures[2] != signatures[1])
    #expect(try headers().count == 2)
  }

  @Test("goes with an id that every byte of the body and the destination's name make")
  func id() {
    func id(_ body: String, _ name: String = "hook") -> String {
      Array(body.utf8).withUnsafeBytes { WebhookSignature.id(of: $0, destination: name) }
    }
    #expect(id("a") == id("a"))
    #expect(Set([id("a"), id("b"), id("a", "other"), id("ab"), id("")]).count == 5)
    #expect(id("a").hasPrefix("msg_") && id("a").utf8.count == 36)
    #expect(id("a").dropFirst(4).allSatisfy { $0.isHexDigit && !$0.isUppercase })
  }
}
