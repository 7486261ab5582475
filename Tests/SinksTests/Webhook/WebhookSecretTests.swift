import Testing

@testable import Sinks

@Suite("A webhook's secret")
struct WebhookSecretTests {
  private func problem(_ text: String) -> String? {
    do throws(WebhookSecret.Misfit) {
      _ = try WebhookSecret(text)
      return nil
    } catch {
      return error.problem
    }
  }

  @Test("is whsec_ and the Base64 of 24 to 64 bytes, padded or not", arguments: [24, 25, 26, 32, 63, 64])
  func right(_ count: Int) throws {
    let key = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 251) }
    let text = "whsec_" + Base64.encode(key)
    #expect(try WebhookSecret(text).key == key)
    #expect(try WebhookSecret(text.filter { $0 != "=" }).key == key)
  }

  @Test("of another form is told what would be right, and not what it is")
  func wrong() {
    let short = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 23))
    let long = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 65))
    #expect(problem(short) == "stands for 23 bytes")
    #expect(problem(long) == "stands for 65 bytes")
    #expect(problem("whsec_") == "stands for 0 bytes")
    #expect(problem("hunter2hunter2hunter2hunter2hunter2") == "doesn't begin with whsec_")
    #expect(problem("WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw") == "doesn't begin with whsec_")
    #expect(problem("whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")?.contains("ed25519") == true)
    for text in [
      "MfKQ9r8GKYqrTwjU-D8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw =", "MfKQ=r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ] {
      #expect(problem("whsec_" + text)?.contains("Base64") == true)
    }
  }

  @Test("doesn't show in what is printed of it")
  func unprinted() throws {
    let secret = try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    var dumped = ""
    dump([secret], to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), "\([secret])", "\(Optional(secret) as Any)", dumped] {
      #expect(!text.contains("MfKQ9r8G") && !text.contains("49"))
    }
  }
}

@Suite("Base64")
struct Base64Tests {
  @Test("is what the RFC's examples are, both ways")
  func examples() {
    let pairs = [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ]
    for (plain, text) in pairs {
      #expect(Base64.encode(Array(plain.utf8)) == text)
      #expect(Base64.decode(text) == Array(plain.utf8))
    }
    #expect(Base64.encode([251, 255, 254]) == "+//+")
  }

  @Test(
    "is refused when nothing encodes so",
    arguments: ["Z", "Zg=", "Zh==", "Zg===", "Z===", "Zm9=", "Zm9v=", "Zm 9v", "Zm9v\n", "Zm-_"])
  func refused(_ text: String) { #expect(Base64.decode(text) == nil) }
}
