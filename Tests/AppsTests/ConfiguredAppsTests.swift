import Testing

@testable import Apps

@Suite("The configured apps")
struct ConfiguredAppsTests {
  @Test("without a write key pass on the first key they accept")
  func withoutWriteKey() throws {
    let registry = try registry([AppDefinition(name: "a", acceptKeys: ["k1", "k2"]), AppDefinition(name: "b")])
    #expect(registry.app(forKey: "k2").appName == "a")
    #expect(registry.upstreamKey(ofApp: "a") == "k1")
    #expect(registry.upstreamKey(ofApp: "b") == nil)
  }

  @Test("are replaced all at once; those that keys have made stay")
  func replacing() throws {
    let registry = try registry([ios])
    _ = registry.app(forKey: "own")
    try registry.replace(apps: [AppDefinition(name: "web", writeKey: "aso_wk_ios")], mode: .listed)
    #expect(registry.app(forKey: "aso_wk_ios").appName == "web")
    #expect(registry.app(forKey: "local-sender") == .unknownKey)
    #expect(registry.upstreamKey(ofApp: "ios") == nil)
    #expect(registry.metricLabel(ofApp: "ios") == "other")
    // What waits for the key's app is still sent, but nothing more is let in for it.
    #expect(registry.app(forKey: "own") == .unknownKey)
    #expect(registry.upstreamKey(ofApp: ownName("own")) == "own")
  }

  @Test("stay as they are when the new ones contradict each other")
  func badReplacement() throws {
    let registry = try registry([ios])
    #expect(throws: AppsError.repeatedName("x")) {
      try registry.replace(apps: [AppDefinition(name: "x"), AppDefinition(name: "x")], mode: .listed)
    }
    #expect(registry.app(forKey: "local-sender").appName == "ios")
    #expect(registry.app(forKey: "anything").appName != nil)
  }

  @Test("must not share keys, be two defaults, or have keys that can't be sent; and no key is told")
  func contradictions() throws {
    let web = AppDefinition(name: "web", writeKey: "secret", acceptKeys: ["local-sender"])
    let cases: [([AppDefinition], AppsError)] = [
      ([ios, web], .sharedKey(app: "ios", other: "web")),
      (
        [AppDefinition(name: "a", isDefault: true), AppDefinition(name: "b", isDefault: true)],
        .severalDefaults(app: "a", other: "b")
      ),
      ([AppDefinition(name: "a", writeKey: "se\r\ncret")], .malformedKey(app: "a")),
      ([AppDefinition(name: "a", writeKey: "")], .malformedKey(app: "a")),
    ]
    for (apps, error) in cases {
      #expect(throws: error) { try registry(apps) }
      #expect(!"\(error)".contains("secret") && !"\(error)".contains("local-sender"))
    }
    // The same key twice in one app is no contradiction.
    _ = try registry([AppDefinition(name: "a", writeKey: "k", acceptKeys: ["k", "k"])])
  }
}
