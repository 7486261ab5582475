import Testing

@testable import Configuration

/// A text that is wrong, and what is said about it.
struct BadConfiguration: Sendable, CustomTestStringConvertible {
  var text: String
  var faults: [String]

  init(_ text: String, _ faults: String...) {
    self.text = text
    self.faults = faults
  }

  var testDescription: String { text }
}

@Suite struct FaultTests {
  @Test(
    arguments: BadConfiguration.yaml + BadConfiguration.keys + BadConfiguration.scalars + BadConfiguration.addresses
      + BadConfiguration.across + BadConfiguration.apps + BadConfiguration.sinks + BadConfiguration.senders
      + BadConfiguration.later + BadConfiguration.protocols + BadConfiguration.ownUpstreams + BadConfiguration.origins
      + BadConfiguration.consent
      + BadConfiguration.more)
  func `Each mistake is said with its line, its key and what would be right`(_ bad: BadConfiguration) {
    #expect(faults(bad.text) == bad.faults)
  }

  @Test func `No fault holds a secret`() {
    let texts = [
      "admin: { token: \"se same\" }", "admin: { token: [sesame] }", "admin: sesame-aso_wk_",
      "admin: { aso_wk_sesame: 1 }",
      "apps: [{ name: a, write_key: \"sesame \u{1} \" }]", "apps: [aso_wk_sesame]", "apps: { sesame\u{1}: 1 }",
      "apps: [{ name: aso_wk_sesame!, write_key: a }]", "upstream: { url: \"https://u:sesame@host\" }",
      "upstream: { url: \"https://host?sesame\" }", "apps: [{ name: a, accept_keys: [\"sesame sesame\"] }]",
      "logging: { level: aso_wk_sesame }",
    ]
    for text in texts {
      #expect(!faults(text).isEmpty, "\(text)")
      #expect(!faults(text).joined().contains("sesame"), "\(text)")
    }
  }

  @Test func `A thousand faults are told, the rest is counted`() {
    let all = faults((0..<1500).map { "key\($0): 1\n" }.joined())
    #expect(all.count == 1001)
    #expect(all.last == "and 500 faults more")
  }

  @Test(arguments: [
    String(repeating: "[", count: 1 << 20), String(repeating: "{a: ", count: 1 << 18),
    String(repeating: "- ", count: 1 << 19), String(repeating: "? ", count: 1 << 19),
    "a: &a [x]\n" + (0..<1000).map { "b\($0): [*a, *a]\n" }.joined(), String(repeating: "\"", count: 1 << 20),
    String(repeating: "\t", count: 1 << 20), String(repeating: "a: 1\n", count: 1 << 17),
  ])
  func `A hostile file costs no time and no stack`(_ text: String) {
    #expect(!faults(text).isEmpty)
  }
}
