import Apps
import Configuration
import Dialects
import EventsAPI
import Foundation
import Sinks
import TestSupport
import Testing

@testable import Relay

@Suite("What a configuration's reader is told of protocols")
struct ProtocolFormatTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  @Test("is of every one there is, and the first is what the configuration's defaults are")
  func all() throws {
    #expect(ProtocolFormat.all.map(\.name) == DialectRegistry.all.map(\.name))
    let usual = try #require(ProtocolFormat.all.first)
    #expect(usual.name == RelayConfiguration.App(name: "a").protocolName)
    #expect(usual.upstream == RelayConfiguration.Upstream())
    #expect(usual.limitUnit == .events && usual.limitsInstalls && usual.replacesTimes && !usual.hasBrowserRoute)
    #expect(usual.calls == ["/v1/events", "/v1/identify"] && usual.keyPrefixes == ["aso_wk_"])
    for format in ProtocolFormat.all {
      #expect(!format.keyPrefixes.isEmpty && format.base(format.upstream.url) == format.upstream.url, "\(format.name)")
    }
  }

  @Test("is what the example file says of each", arguments: DialectRegistry.all.dropFirst().map(\.name))
  func example(_ name: String) throws {
    let read = ConfigurationLoader.load(
      file: "\(root)/Config/relay.example.yaml", environment: [:], sinkTypes: SinkRegistry.types,
      protocols: ProtocolFormat.all)
    let app = try #require(try read.get().apps.first { $0.protocolName == name })
    #expect(app.upstream == ProtocolFormat.all.first { $0.name == name }?.upstream)
    #expect(try read.get().warnings.isEmpty)
  }

  @Test("makes apps with their protocol's number, origins and deny lists")
  func definitions() throws {
    var app = RelayConfiguration.App(name: "a")
    #expect(AppDefinition(app).dialect == DialectRegistry.usual.number && AppDefinition(app).rules == nil)
    app.origins = ["https://a.example"]
    app.deniedIDs = DeniedIDs(["anon-ü", "anon-ü", "b"])
    let rules = try #require(AppDefinition(app).rules)
    #expect(rules.allows(origin: "https://a.example") && !rules.allows(origin: "https://b.example"))
    #expect(rules.denied?.count == 2)
    #expect(rules.denied?.holds("anon-ü", hash: PersonHash.of("anon-ü")) == true)
    #expect(rules.denied?.mayHold(PersonHash.of("c")) == false)
    for dialect in DialectRegistry.all {
      app.protocolName = dialect.name
      #expect(AppDefinition(app).dialect == dialect.number)
    }
  }
}
