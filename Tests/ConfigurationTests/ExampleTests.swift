import Foundation
import TestSupport
import Testing

@testable import Configuration
@testable import Sinks

@Suite struct ExampleTests {
  private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path(percentEncoded: false)

  @Test func `The example file holds the defaults`() throws {
    let file = "\(root)Config/relay.example.yaml"
    let configuration = try ConfigurationLoader.load(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all
    ).get()
    var expected = RelayConfiguration(dataDirectory: "\(root)Config/data")
    var app = RelayConfiguration.App(name: "ios")
    app.writeKey = .init("aso_wk_example")
    var site = RelayConfiguration.App(name: "site")
    site.protocolName = "datalyr"
    site.writeKey = .init("dk_example")
    site.upstream = TestProtocols.requests.upstream
    var game = RelayConfiguration.App(name: "game")
    game.protocolName = "voidhash"
    game.writeKey = .init("vh_pk_example")
    game.upstream = TestProtocols.ordered.upstream
    expected.apps = [app, site, game]
    var hook = WebhookOptions(url: "https://example.com/hook")
    hook.secrets = [try WebhookSecret("whsec_ZXhhbXBsZSBvZiBhIHNlY3JldCwgdGFrZSB5b3Vycw==")]
    hook.hasUsualMaxBehind = false
    expected.sinks = [
      .init(
        name: "raw", type: "ndjson",
        options: NDJSONOptions(pattern: try PathPattern("\(root)Config/data/events/%Y/%m/%d/%H.ndjson"))),
      .init(name: "audit", type: "archive", options: ArchiveOptions(directory: "\(root)Config/data/archive")),
      .init(name: "hook", type: "webhook", options: hook),
    ]
    expected.sinks[2].common.maxBehind = WebhookOptions.maxBehindUsual
    #expect(configuration == expected)
  }

  @Test func `Every key of the schema stands in the example file, in its place`() throws {
    let bytes = try #require(readFile("\(root)Config/relay.example.yaml"))
    // The one key that can't stand beside another is shown in a comment.
    let text = String(decoding: bytes, as: UTF8.self).replacingOccurrences(
      of: "    # write_key_file", with: "    write_key_file")
    let schema = ConfigurationLoader.parse(
      bytes, file: "relay.yaml", environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all
    )
    .keys
    let root = try #require(try YAMLReader.read(Array(text.utf8)).get())
    #expect(schema == paths(of: root, under: ""))
    #expect(schema.count > 50)
  }

  private func paths(of node: YAMLNode, under path: String) -> Set<String> {
    switch node.content {
    case .scalar: []
    case .sequence(let elements):
      elements.reduce(into: []) { $0.formUnion(paths(of: $1, under: path + "[]")) }
    case .mapping(let members):
      members.reduce(into: []) { out, member in
        let key = path.isEmpty ? member.key : "\(path).\(member.key)"
        out.insert(key)
        out.formUnion(paths(of: member.value, under: key))
      }
    }
  }

  @Test func `The trial's file is right without any variable`() throws {
    let configuration = try ConfigurationLoader.load(
      file: "\(root)Config/trial.yaml", environment: [:], sinkTypes: SinkRegistry.types, protocols: TestProtocols.all
    ).get()
    #expect(configuration.warnings.isEmpty)
    #expect(configuration.ingest.listen == [.tcp(host: "127.0.0.1", port: 8787)])
    #expect(configuration.admin.listen == .tcp(host: "127.0.0.1", port: 8788))
    #expect(configuration.apps.map(\.name) == ["trial", "trial-shop", "trial-game"])
    #expect(configuration.apps.first?.writeKey?.revealed == "aso_wk_trial")
    #expect(configuration.sinks.map(\.name) == ["raw", "audit"])
  }
}
