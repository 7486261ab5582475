import HTTPClient
import TestSupport
import Testing

@testable import Configuration
@testable import Sinks

@Suite("A webhook's keys")
struct WebhookOptionsTests {
  private let directory = TemporaryDirectory()
  private let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  /// A configuration with one webhook, on lines 2 and on.
  private func text(_ keys: String...) -> String {
    "sinks:\n  - name: hook\n    type: webhook\n" + keys.map { "    \($0)\n" }.joined()
  }

  private func options(_ text: String, environment: [String: String] = [:]) throws -> WebhookOptions {
    let configuration = try parse(text, environment: environment).get()
    return try #require(configuration.sinks.first?.options as? WebhookOptions)
  }

  @Test("have the contract's defaults")
  func defaults() throws {
    let options = try options(text("url: https://example.com/hook", "secret: \(secret)"))
    var expected = WebhookOptions(url: "https://example.com/hook")
    expected.secrets = [try WebhookSecret(secret)]
    #expect(options == expected)
    #expect(options.maxBatchEvents == 100 && options.linger == .seconds(1) && options.timeout == .seconds(15))
    let days = WebhookRetry(initial: .seconds(5), max: .seconds(3600), giveUpAfter: .seconds(3 * 86_400))
    #expect(options.retry == days)
    #expect(options.hasUsualMaxBehind && WebhookOptions.maxBehindUsual == 1 << 30)
  }

  @Test("are all taken")
  func everything() throws {
    let certificate = directory.write("c.pem", "-----BEGIN CERTIFICATE-----")
    let key = directory.write("k.pem", "-----BEGIN PRIVATE KEY-----")
    let options = try options(
      text(
        "url: HTTP://127.0.0.1:99/a/b?token=x", "secret: [\(secret), \"${SECOND}\"]",
        #"headers: { Authorization: "Bearer ${TOKEN}", X-Tenant: 7 }"#, "ca_file: \(certificate)",
        "client_certificate: { certificate: \(certificate), key: \(key) }", "max_behind: 2GiB", "max_batch_events: 7",
        "linger: 0s", "timeout: 1s", "retry: { initial: 1ms, max: 2ms, give_up_after: 1h }"),
      environment: ["SECOND": "whsec_" + Base64.encode(1...32), "TOKEN": "hunter2"])
    var expected = WebhookOptions(url: "http://127.0.0.1:99/a/b?token=x")
    expected.secrets = [try WebhookSecret(secret), try WebhookSecret("whsec_" + Base64.encode(1...32))]
    expected.headers = [
      WebhookHeader(name: "Authorization", value: .init("Bearer hunter2")),
      WebhookHeader(name: "X-Tenant", value: .init("7")),
    ]
    expected.caFile = certificate
    expected.clientCertificate = ClientCertificate(certificate: certificate, key: key)
    expected.maxBatchEvents = 7
    expected.linger = .zero
    expected.timeout = .seconds(1)
    expected.retry = WebhookRetry(initial: .milliseconds(1), max: .milliseconds(2), giveUpAfter: .seconds(3600))
    expected.hasUsualMaxBehind = false
    #expect(options == expected)
    #expect(options.place == "http://127.0.0.1:99")
  }

  @Test("are faults when they are wrong, and no secret is printed")
  func wrong() {
    let shut = directory.write("enc.pem", "-----BEGIN ENCRYPTED PRIVATE KEY-----")
    let found = faults(
      text(
        "url: https://user:hunter2@example.com/", "secret: [hunter2, whsec_aHVudGVyMg==]",
        #"headers: { Host: a, Webhook-Id: b, "a b": c, X-A: "hunter2\n", X-B: c, x-b: d }"#,
        "client_certificate: { key: \(shut) }", "max_batch_events: 0",
        "retry: { initial: 2s, max: 1s }", "time_out: 1s"))
    let right = "it should be a secret of 24 to 64 random bytes: `whsec_` and their Base64"
    #expect(
      found == [
        "4: sinks[0].url: the value holds a user or password before an @; it should be the receiver's URL, such as https://example.com/hook",
        "5: sinks[0].secret[0]: the value doesn't begin with whsec_; \(right)",
        "5: sinks[0].secret[1]: the value stands for 7 bytes; \(right)",
        "6: sinks[0].headers.Host: is set by the relay itself; remove it",
        "6: sinks[0].headers.Webhook-Id: belongs to the signature, as all that begin with webhook-; remove it",
        "6: sinks[0].headers.?: is no header's name; it should be letters, digits and -, such as Authorization",
        "6: sinks[0].headers.X-A: the value holds a line break, another control character or one beyond ASCII; it should be a header's value of 1 to 8192 ASCII characters",
        "6: sinks[0].headers.x-b: stands twice, in other letters; remove one",
        "7: sinks[0].client_certificate.key: \"\(shut)\": is encrypted with a passphrase; give the key without one, in a file only the relay may read",
        "7: sinks[0].client_certificate.certificate: is missing; it should be the path of a PEM file, and certificate and key go together",
        "8: sinks[0].max_batch_events: \"0\" is less than the least, 1; it should be a whole number from 1 to 1000",
        "9: sinks[0].retry.initial: initial is longer than max; make one fit the other",
        "10: sinks[0].time_out: there is no such key here; did you mean timeout?",
      ])
    #expect(!found.joined().contains("hunter2"))
    #expect(
      faults(text("secret: \(secret)")) == [
        "2: sinks[0].url: is missing; it should be the receiver's URL, such as https://example.com/hook"
      ])
  }

  @Test("warn of what is risky, and take it")
  func warned() throws {
    let found = try warnings(text("url: http://example.com/hook"))
    #expect(
      found == [
        "2: sinks[0].secret: is missing: requests are not signed, so that the receiver can't know who sent them",
        "4: sinks[0].url: is http: whoever is on the way can read the events; use https",
      ])
    for url in ["https://example.com", "http://127.0.0.1:8/x", "http://[::1]/", "http://localhost"] {
      #expect(try warnings(text("url: \"\(url)\"", "secret: \(secret)")).isEmpty)
    }
    #expect(try options(text("url: https://example.com", "secret: ~", "max_behind: ~")).hasUsualMaxBehind == false)
  }
}
