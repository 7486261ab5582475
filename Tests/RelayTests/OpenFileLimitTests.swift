import Configuration
import Sinks
import TestSupport
import Testing

@testable import Relay

@Suite("The limit of open files")
struct OpenFileLimitTests {
  private let directory = TemporaryDirectory()

  private func needs(_ connections: Int = 1024, sinks: String = "") throws -> OpenFileNeeds {
    let file = directory.write("relay.yaml", "sinks: [\(sinks)]")
    var configuration = try ConfigurationLoader.load(
      file: file, environment: [:], sinkTypes: SinkRegistry.types, protocols: ProtocolFormat.all
    ).get()
    configuration.ingest.maxConnections = connections
    return OpenFileNeeds(configuration)
  }

  @Test("lets every part have all that it may use when it is high enough")
  func enough() throws {
    for sinks in Self.sinks {
      let needs = try needs(sinks: sinks.text)
      let shares = try #require(needs.shares(of: needs.most))
      #expect((shares.connections, shares.transfers, shares.admin, shares.segments) == (1024, 128, 64, 16))
      #expect(shares.lineFiles == (sinks.byApp == 0 ? 4 : 64))
      #expect(needs.shares(of: 1_000_000) == shares)
      let fewer = try #require(needs.shares(of: needs.most - 1))
      #expect(fewer != shares)
    }
  }

  /// Configured sinks, and how many of them have one file an app.
  private static let sinks: [(text: String, count: Int, byApp: Int)] = [(0, 0), (12, 0), (16, 0), (3, 28)].map {
    byApp, archives in
    let sinks =
      (0..<byApp).map { "{ name: s\($0), type: ndjson, path: \"/x/\($0)/%app.ndjson\" }" }
      + (0..<archives).map { "{ name: a\($0), type: archive, path: \"/a/\($0)\" }" }
    return (sinks.joined(separator: ","), byApp + archives, byApp)
  }

  @Test("gives out no more than there is, whatever sinks there are, and leaves everybody what is needed at least")
  func shared() throws {
    for sinks in Self.sinks {
      let needs = try needs(sinks: sinks.text)
      #expect(needs.shares(of: needs.least - 1) == nil)
      for limit in needs.least...needs.least + 3000 {
        let shares = try #require(needs.shares(of: limit))
        let more = [
          shares.connections - 4, shares.transfers - 4, shares.admin - 4, shares.segments - 2,
          (shares.lineFiles - 4) * sinks.byApp,
        ]
        #expect(more.allSatisfy { $0 >= 0 } && shares.connections <= 1024)
        // Queues of events that are sent again have theirs before anybody has more than he needs.
        let queues = 4 * (sinks.count + 1)
        let given = more.reduce(0, +)
        #expect(given == 0 || needs.least + queues + given <= limit, "\(limit): \(shares)")
        // None is left over while somebody could use it.
        #expect(
          limit < needs.least + queues || given == min(limit, needs.most) - needs.least - queues || sinks.byApp > 0)
      }
    }
  }

  @Test("of 64 is enough for three sinks, and for few connections no more is asked than they need")
  func small() throws {
    #expect(try needs().least <= 60)
    #expect(try needs(1).least == needs().least - 3)
    #expect(try needs(2).shares(of: 64)?.connections == 2)
    #expect(try needs().shares(of: needs().least)?.connections == OpenFileNeeds.connectionsMin)
  }
}
