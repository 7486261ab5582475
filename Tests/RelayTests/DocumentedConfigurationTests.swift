import Configuration
import Foundation
import Sinks
import TestSupport
import Testing

@testable import Relay

@Suite("A configuration in the documentation")
struct DocumentedConfigurationTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// The README and the pages, those of them that show a configuration.
  private static let pages: [String] = {
    let docs = "Sources/Relay/Docs.docc"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: docs).path)) ?? []
    let all = ["README.md"] + names.filter { $0.hasSuffix(".md") }.sorted().map { "\(docs)/\($0)" }
    return all.filter { !blocks(of: $0).isEmpty }
  }()

  private static func blocks(of page: String) -> [String] {
    guard let text = try? String(contentsOf: root.appending(path: page), encoding: .utf8) else { return [] }
    return text.components(separatedBy: "```yaml\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }
  }

  @Test("is right as it stands there", arguments: pages)
  func isRight(page: String) throws {
    let secrets = ["HOOK_SECRET": "whsec_" + String(repeating: "A", count: 43) + "="]
    for block in Self.blocks(of: page) {
      var environment = secrets
      for name in block.matches(of: /\$\{([A-Z_]+)/).map({ String($0.output.1) }) where environment[name] == nil {
        environment[name] = "key-\(name)"
      }
      let directory = TemporaryDirectory()
      _ = directory.write("left-alone.txt", "somebody\n")
      if block.contains("tls:") {
        try #require(TestCertificate.canBeMade)
        _ = try TestCertificate("relay", in: directory)
        _ = try TestCertificate("operators-ca", in: directory)
      }
      let read = ConfigurationLoader.load(
        file: directory.write("relay.yaml", block), environment: environment, sinkTypes: SinkRegistry.types,
        protocols: ProtocolFormat.all)
      if case .failure(let faults) = read { Issue.record("\(page): \(faults.all.map(\.description))") }
    }
  }

  @Test("is looked for where there are some")
  func pagesAreFound() {
    let names = Self.pages.map { $0.split(separator: "/").last.map(String.init) ?? "" }
    #expect(Set(names).isSuperset(of: ["README.md", "Datalyr.md", "Voidhash.md", "Webhook.md"]), "\(names)")
  }
}
