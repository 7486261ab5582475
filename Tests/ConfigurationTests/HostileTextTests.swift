import Foundation
import Sinks
import TestSupport
import Testing

@testable import Configuration

@Suite struct HostileTextTests {
  @Test func `A file with random damage is judged, and never ends the process`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    let example = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Config/relay.example.yaml").path(percentEncoded: false)
    let bytes = try #require(readFile(example))
    var random = SeededGenerator(seed: seed)
    var judged = 0
    for run in 0..<500 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let at = Int.random(in: 0..<damaged.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: damaged[at] = UInt8.random(in: 0...255, using: &random)
        case 1: damaged.removeSubrange(at..<min(damaged.count, at + Int.random(in: 1...40, using: &random)))
        case 2:
          damaged.insert(
            contentsOf: Array("${:-}[]{}\"'&*!|>%@`#\t-,?~".utf8).shuffled(using: &random).prefix(3), at: at)
        default: damaged.swapAt(at, Int.random(in: 0..<damaged.count, using: &random))
        }
      }
      switch ConfigurationLoader.parse(
        damaged, file: "/etc/er/relay.yaml", environment: [:], sinkTypes: SinkRegistry.types,
        protocols: TestProtocols.all
      ).result {
      case .success: judged += 1
      case .failure(let faults):
        #expect(!faults.all.isEmpty && faults.all.allSatisfy { !$0.message.isEmpty }, "seed \(seed), run \(run)")
        judged += 1
      }
    }
    #expect(judged == 500)
  }
}
