import Configuration
import Delivery
import Dialects
import Testing

@testable import Relay

@Suite("The upstreams of a configuration's apps")
struct UpstreamsTests {
  private func configuration(_ apps: RelayConfiguration.App...) -> RelayConfiguration {
    var configuration = RelayConfiguration(dataDirectory: "/nowhere")
    configuration.upstream.url = "https://usual.test"
    configuration.apps = apps
    return configuration
  }

  private func app(_ name: String, _ protocolName: String = "app-store-operator", url: String? = nil)
    -> RelayConfiguration.App
  {
    var app = RelayConfiguration.App(name: name)
    app.protocolName = protocolName
    if let url {
      var upstream = RelayConfiguration.Upstream()
      upstream.url = url
      upstream.retry.maxAttempts = 7
      app.upstream = upstream
    }
    return app
  }

  @Test("an app without one of its own has the usual one; one with its own has all of it")
  func own() throws {
    let upstreams = Upstreams(configuration(app("ios"), app("android", url: "https://own.test/v1/")))
    #expect(upstreams.byApp.keys.sorted() == ["android"])
    #expect(upstreams.usual.base == "https://usual.test" && upstreams.usual.dialect.number == 0)
    let own = try #require(upstreams.byApp["android"])
    #expect(own.base == "https://own.test" && own.dialect.number == 0 && own.retry.maxAttempts == 7)
  }

  @Test(
    "an app of another protocol has that protocol's, also when it says nothing else",
    arguments: ["datalyr", "voidhash"])
  func protocols(name: String) throws {
    let dialect = try #require(DialectRegistry.dialect(named: name))
    let upstreams = Upstreams(configuration(app("plain", name), app("own", name, url: "https://own.test")))
    #expect(upstreams.byApp["plain"] == UpstreamConfiguration(defaultsOf: dialect))
    #expect(upstreams.byApp["own"]?.base == "https://own.test")
    #expect(upstreams.byApp["own"]?.dialect.number == dialect.number)
    #expect(upstreams.usual.dialect.number == 0)
  }

  @Test("with the stand-in every app's events go there, each by its own protocol, whatever the configuration says")
  func standIn() {
    let upstreams = Upstreams(
      configuration(
        app("a", "datalyr"), app("b", "voidhash", url: "https://own.test"), app("c", url: "https://own.test")),
      standInURL: "http://127.0.0.1:9", adopts: true)
    #expect(upstreams.usual.base == "http://127.0.0.1:9" && upstreams.usual.adoptsWaitingEvents)
    #expect(upstreams.byApp.values.allSatisfy { $0.base == "http://127.0.0.1:9" })
    #expect(upstreams.byApp.mapValues(\.dialect.number) == ["a": 1, "b": 2, "c": 0])
  }
}
