import TestSupport
import Testing

@testable import Apps

@Suite("A sender's key")
struct AdmissionTests {
  @Test("that an app lists belongs to the app, with either mode", arguments: KeyMode.allCases)
  func listed(mode: KeyMode) throws {
    let registry = try registry([ios, AppDefinition(name: "web", writeKey: "aso_wk_web")], mode: mode)
    for key in ["aso_wk_ios", "local-sender", "aso_wk_former"] {
      #expect(registry.app(forKey: key) == .app(App(name: "ios", metricLabel: "ios")))
    }
    #expect(registry.app(forKey: "aso_wk_web").appName == "web")
    #expect(registry.upstreamKey(ofApp: "ios") == "aso_wk_ios")
    #expect(registry.names == ["ios", "web"])
  }

  @Test("that no app lists makes an app of its own when any key is let in")
  func own() throws {
    let registry = try registry([ios])
    let admission = registry.app(forKey: "aso_wk_other")
    #expect(admission == .app(App(name: ownName("aso_wk_other"), metricLabel: "other")))
    #expect(registry.app(forKey: "aso_wk_other") == admission)
    #expect(registry.upstreamKey(ofApp: ownName("aso_wk_other")) == "aso_wk_other")
    #expect(registry.metricLabel(ofApp: ownName("aso_wk_other")) == "other")
    #expect(registry.names == ["ios", ownName("aso_wk_other")])
  }

  @Test("that no app lists is refused when only listed ones are let in")
  func unknown() throws {
    #expect(try registry([ios], mode: .listed).app(forKey: "aso_wk_other") == .unknownKey)
  }

  @Test("is found in the bytes that came, too")
  func bytes() throws {
    let registry = try registry([ios])
    for key in ["local-sender", "aso_wk_new"] {
      let byBytes = Array(key.utf8).withUnsafeBytes { registry.app(forKeyBytes: $0) }
      #expect(byBytes == registry.app(forKey: key))
      #expect(byBytes.appName != nil)
    }
  }

  @Test("may be missing only when an app is the default")
  func missing() throws {
    let none = try registry([ios])
    #expect(none.app(forKey: nil) == .missingKey)
    #expect(none.app(forKey: "") == .missingKey)
    var fallback = AppDefinition(name: "fallback", writeKey: "k")
    fallback.isDefault = true
    #expect(try registry([ios, fallback], mode: .listed).app(forKey: nil).appName == "fallback")
  }

  @Test(
    "that could never be one is refused",
    arguments: ["a b", "a\r\nX-Evil: 1", "ключ", "a\u{7F}", "\u{0}", String(repeating: "a", count: 257)])
  func malformed(key: String) throws {
    #expect(try registry().app(forKey: key) == .unknownKey)
  }

  @Test("of the greatest length is let in")
  func longest() throws {
    #expect(try registry().app(forKey: String(repeating: "a", count: 256)).appName != nil)
  }

  @Test("past the thousandth app is refused, and the others stay")
  func tooMany() throws {
    let registry = try registry([ios])
    for number in 0..<AppRegistry.ownAppsMax {
      #expect(registry.app(forKey: "key \(number)".replacing(" ", with: "_")).appName != nil)
    }
    #expect(registry.app(forKey: "one_more") == .tooManyKeys)
    #expect(registry.app(forKey: "key_0").appName == ownName("key_0"))
    #expect(registry.app(forKey: "aso_wk_ios").appName == "ios")
    #expect(registry.names.count == AppRegistry.ownAppsMax + 1)
  }

  @Test("makes one app, however many requests bring it at once")
  func concurrency() async throws {
    let directory = TemporaryDirectory()
    let registry = try registry(storage: directory.file("keys"))
    let names = await withTaskGroup(of: String?.self) { group in
      for number in 0..<200 { group.addTask { registry.app(forKey: "key_\(number % 10)").appName } }
      var names: [String?] = []
      for await name in group { names.append(name) }
      return names
    }
    #expect(Set(names) == Set((0..<10).map { ownName("key_\($0)") }))
    #expect(readLines(directory.file("keys")).count == 12)
  }

  @Test("gets a longer name when another's has the same digits")
  func collision() {
    let digest = KeyRules.digest(of: "k")
    let name = OwnApp.name(for: "k") { $0 == "key-\(digest.prefix(8))" || $0 == "key-\(digest.prefix(9))" }
    #expect(name == "key-\(digest.prefix(10))")
    #expect(OwnApp.isName(name ?? "", for: "k"))
    #expect(!OwnApp.isName(name ?? "", for: "l"))
    #expect(!OwnApp.isName("key-", for: "k"))
  }

  @Test("doesn't take the name of a configured app")
  func configuredName() throws {
    let registry = try registry([AppDefinition(name: ownName("k"), writeKey: "w")])
    let name = try #require(registry.app(forKey: "k").appName)
    #expect(name.hasPrefix(ownName("k")) && name != ownName("k"))
    #expect(registry.upstreamKey(ofApp: name) == "k")
    #expect(registry.upstreamKey(ofApp: ownName("k")) == "w")
  }

  @Test("shows in logs as a fingerprint only")
  func fingerprint() throws {
    #expect(AppRegistry.fingerprint(of: "abc") == "ba7816bf")
    let lines = LogLines()
    let registry = try registry(storage: "/nowhere/keys", logger: lines.logger)
    #expect(registry.app(forKey: "aso_wk_secret") == .keyNotStored)
    #expect(
      lines.list.contains { $0.contains(AppRegistry.fingerprint(of: "aso_wk_secret")) && $0.contains("/nowhere/keys") })
    #expect(!lines.list.contains { $0.contains("aso_wk_secret") })
  }
}
