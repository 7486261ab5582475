import Sinks
import TestSupport
import Testing

@testable import Configuration

@Suite("Apps' protocols")
struct ProtocolTests {
  private func app(_ keys: String, upstream: String = "") throws -> RelayConfiguration.App {
    let read = try parse("upstream: { \(upstream) }\napps: [{ name: a, \(keys) }]").get()
    return try #require(read.apps.first)
  }

  @Test("an app that says nothing speaks the first, and sends as the common section says")
  func usual() throws {
    let app = try app("write_key: aso_wk_1", upstream: "linger: 7s")
    #expect(app.protocolName == "app-store-operator" && app.upstream == nil)
    #expect(try self.app("write_key: aso_wk_1, protocol: app-store-operator, upstream: ~").upstream == nil)
  }

  @Test("an app of the first with an upstream of its own has the common values where it says nothing")
  func own() throws {
    let common = "url: https://common.example, linger: 7s, retry: { jitter: 0%, max_attempts: 9 }, order: oldest_first"
    let upstream = try #require(
      try app(
        "write_key: aso_wk_1, upstream: { url: https://own.example/v1, rate_limit: { margin: 1% } }", upstream: common
      ).upstream)
    var expected = RelayConfiguration.Upstream()
    expected.url = "https://own.example"
    expected.linger = .seconds(7)
    expected.retry.jitter = 0
    expected.retry.maxAttempts = 9
    expected.order = .oldestFirst
    expected.rateLimit.margin = 0.01
    #expect(upstream == expected)
  }

  @Test(
    "an app of another protocol has that one's defaults, whatever the common section says",
    arguments: TestProtocols.all.dropFirst())
  func defaults(_ format: ProtocolFormat) throws {
    let key = format.keyPrefixes[0] + "1"
    let common = "url: https://common.example, linger: 7s, rate_limit: { margin: 9% }, concurrency: 2"
    let app = try app("protocol: \(format.name), write_key: \(key)", upstream: common)
    #expect(app.protocolName == format.name && app.upstream == format.upstream)
  }

  @Test("every key of its own upstream is taken")
  func everything() throws {
    let directory = TemporaryDirectory()
    let authorities = directory.write("ca.pem", "-----BEGIN CERTIFICATE-----")
    let upstream = try #require(
      try app(
        "protocol: datalyr, write_key: dk_1, upstream: { url: \"http://127.0.0.1:9/x/track/\", linger: 1s, max_batch_events: 2, "
          + "max_batch_bytes: 32KiB, timeout: 3s, connect_timeout: 4s, ca_file: \(authorities), "
          + "retry: { initial: 5s, max: 6s, jitter: 7%, max_attempts: 1000000 }, "
          + "rate_limit: { requests_per_minute: 8, margin: 9% }, concurrency: 3, on_refused_key: dead_letter }"
      ).upstream)
    var expected = RelayConfiguration.Upstream()
    expected.url = "http://127.0.0.1:9/x"
    expected.linger = .seconds(1)
    expected.maxBatchEvents = 2
    expected.maxBatchBytes = 32 << 10
    expected.timeout = .seconds(3)
    expected.connectTimeout = .seconds(4)
    expected.caFile = PEMFile(path: authorities, bytes: Array("-----BEGIN CERTIFICATE-----".utf8))
    expected.retry = .init(initial: .seconds(5), max: .seconds(6), jitter: 0.07, maxAttempts: 1_000_000)
    expected.rateLimit = .init(eventsPerMinute: 8, perInstallPerMinute: 0, margin: 0.09)
    expected.concurrency = 3
    expected.onRefusedKey = .deadLetter
    #expect(upstream == expected)
  }

  @Test("one app of each may be the default")
  func oneDefaultEach() throws {
    let apps = try parse(
      """
      apps:
        - { name: a, write_key: aso_wk_1, default: true }
        - { name: b, write_key: dk_1, protocol: datalyr, default: true }
        - { name: c, write_key: vh_sk_1, protocol: voidhash, default: true }
      """
    ).get().apps
    #expect(apps.allSatisfy { $0.isDefault })
  }

  @Test("origins are taken as browsers send them")
  func origins() throws {
    let app = try app(
      "protocol: datalyr, write_key: dk_1, origins: [\"HTTPS://A.Example:443\", https://b.example:8443, "
        + "\"http://localhost:3000\", \"http://[::1]:80\", \"*\"]")
    #expect(
      app.origins == ["https://a.example", "https://b.example:8443", "http://localhost:3000", "http://[::1]", "*"])
    #expect(
      try self.app("protocol: datalyr, write_key: dk_1, origins: https://a.example").origins == ["https://a.example"])
    #expect(try self.app("protocol: datalyr, write_key: dk_1").origins.isEmpty)
  }

  @Test("a key that doesn't look like the protocol's own is a warning, and so is what goes unencrypted")
  func odd() throws {
    #expect(
      try warnings(
        """
        apps:
          - { name: a, protocol: datalyr, write_key: aso_wk_1 }
          - { name: b, protocol: voidhash, write_key: dk_1 }
          - name: c
            protocol: datalyr
            write_key: dk_2
            upstream: { url: http://up.example }
            accept_keys: [ws_1]
            origins: [http://page.example, http://127.0.0.1:3000]
          - { name: d, protocol: voidhash, write_key: vh_pk_1 }
          - { name: e, protocol: voidhash, write_key: vh_sk_1 }
        """) == [
          "2: apps[0].write_key: the key does not begin with dk_, as the upstream's keys do; is it the right one?",
          "3: apps[1].write_key: the key does not begin with vh_pk_ or vh_sk_, as the upstream's keys do; is it the right one?",
          "7: apps[2].upstream.url: is http: events and keys go to another machine unencrypted; use https",
          "9: apps[2].origins: an origin is http: whoever is on the way can change such a page and what it posts; use https",
        ])
  }

  @Test("pages that have no key are a warning where nothing of theirs is listed")
  func pagesWithoutKey() throws {
    let warning =
      "1: apps[0].origins: pages present their workspace_id, not the write_key, and no accept_keys are there: each of their "
      + "batches is refused; list their workspace_id under accept_keys"
    func found(_ keys: String) throws -> [String] {
      try warnings("apps: [{ name: a, protocol: datalyr, origins: [https://a.example], \(keys) }]")
    }
    #expect(try found("write_key: dk_1") == [warning])
    #expect(try found("write_key: dk_1, default: true") == [warning])
    #expect(try found("write_key: dk_1, accept_keys: [ws_1]").isEmpty)
    // Where the write key is the workspace's id the pages have it.
    #expect(try found("write_key: ws_1").map { $0.contains("origins") } == [false])
    #expect(try warnings("apps: [{ name: a, protocol: datalyr, write_key: dk_1 }]").isEmpty)
  }

  @Test("an upstream that ends in another protocol's call is a warning: the relay adds its own behind it")
  func otherCall() throws {
    func found(_ url: String) throws -> [String] {
      try warnings("apps: [{ name: a, protocol: datalyr, write_key: dk_1, upstream: { url: \"\(url)\" } }]")
    }
    #expect(
      try found("https://up.example/v1/events") == [
        "1: apps[0].upstream.url: ends in /v1/events, a call of another protocol's; Datalyr is spoken here, and the relay "
          + "adds /track and / behind it: is it the right upstream?"
      ])
    #expect(try found("https://up.example/v1/events/").count == 1)
    for url in [
      "https://up.example/v1", "https://up.example/track", "https://up.example/v1/eventsource", "https://up.example/",
    ] {
      #expect(try found(url).isEmpty, "\(url)")
    }
  }

  @Test("no key of any protocol is printed, and words that only look like one are")
  func secrets() {
    for key in ["dk_sesame", "vh_pk_sesame", "vh_sk_sesame", "aso_wk_sesame"] {
      let found = faults("logging: { level: \(key) }\n\(key): 1\napps: [{ name: \"\(key)!\", write_key: \(key) }]")
      #expect(found.count == 3 && !found.joined().contains("sesame"))
    }
    #expect(faults("logging: { level: sdk_x }").first?.contains("\"sdk_x\" is not known") == true)
  }
}
