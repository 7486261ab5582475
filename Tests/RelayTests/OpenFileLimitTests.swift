import Configuration
import Testing

@testable import Relay

@Suite("The limit of open files")
struct OpenFileLimitTests {
  private func needs(_ connections: Int = 1024) -> OpenFileNeeds {
    var configuration = RelayConfiguration(dataDirectory: "/data")
    configuration.ingest.maxConnections = connections
    return OpenFileNeeds(configuration)
  }

  @Test("lets every part have all that it may use when it is high enough")
  func enough() throws {
    let shares = try #require(needs().shares(of: needs().most))
    #expect(shares == OpenFileNeeds.Shares(connections: 1024, transfers: 128, admin: 64))
    #expect(needs().shares(of: 1_000_000) == shares)
  }

  @Test("takes from senders first: the log and the way to the upstream keep theirs", arguments: 1...2000)
  func shared(limit: Int) throws {
    let needs = needs()
    guard let shares = needs.shares(of: limit) else {
      #expect(limit < needs.least)
      return
    }
    #expect(limit >= needs.least)
    #expect(shares.connections >= OpenFileNeeds.connectionsMin && shares.connections <= 1024)
    #expect(shares.transfers >= 4 && shares.admin >= 4)
    // What is given out is there, with what the rest needs.
    let rest = needs.most - 1024 - 128 - 64 - 16
    #expect(shares.connections + shares.transfers + shares.admin + rest + 2 <= limit)
  }

  @Test("of 64 is enough for three sinks, and for few connections no more is asked than they need")
  func small() {
    #expect(needs().least <= 60)
    #expect(needs(1).least == needs().least - 3)
    #expect(needs(2).shares(of: 64)?.connections == 2)
    #expect(needs().shares(of: needs().least)?.connections == OpenFileNeeds.connectionsMin)
    #expect(needs().shares(of: needs().least - 1) == nil)
  }
}
