import Configuration
import Foundation
import JSON
import Relay
import Sinks
import Synchronization
import TestSupport
import Testing

@testable import Commands

@Suite struct SinkPlacesTests {
  private let directory = TemporaryDirectory()

  @Test func `A place that cannot be used is a fault, which check tells with its line`() async {
    let blocker = directory.write("taken", "a file")
    let file = directory.write(
      "relay.yaml",
      "sinks:\n- name: raw\n  type: ndjson\n  path: ./taken/%H.ndjson\n- { name: ok, type: ndjson, path: y }\n")
    let ran = await run("check", "--config", file)
    #expect(ran.code == 2)
    #expect(
      ran.out
        == "\(file):4: sinks[0].path: \(blocker) is no directory: move it away, or choose another path\n")
  }

  @Test func `A host without an address is a warning, unless a proxy looks names up`() async throws {
    let file = directory.write(
      "relay.yaml",
      """
      sinks:
        - { name: one, type: webhook, url: "https://known.example/x" }
        - { name: two, type: webhook, url: "https://unknown.example:8443/x?y=secret" }
      """)
    let configuration = try configuration(file)
    let asked = Mutex<Set<String>>([])
    let warnings = SinkPlaces.warnings(configuration, file: file, environment: [:]) { host in
      asked.withLock { _ = $0.insert(host) }
      return host == "known.example"
    }
    #expect(asked.withLock { $0 } == ["known.example", "unknown.example"])
    #expect(warnings.map(\.line) == [3] && warnings.map(\.key) == ["sinks[1].url"])
    #expect(warnings.first?.message.contains("unknown.example from here") == true)
    #expect(
      SinkPlaces.warnings(configuration, file: file, environment: ["https_proxy": "http://p"]) { _ in false }.isEmpty)
    #expect(SinkPlaces.isKnown("127.0.0.1") && SinkPlaces.isKnown("localhost"))
  }

  private func configuration(_ file: String) throws -> RelayConfiguration {
    try ConfigurationLoader.load(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: ProtocolFormat.all
    ).get()
  }
}
