import Testing

@testable import Relay

@Suite("The limit of open files")
struct DescriptorLimitTests {
  @Test("is raised as far as the senders' connections need, and no further than can be")
  func raised() {
    func raised(_ current: Int, _ highest: Int, for connections: Int) -> Int {
      DescriptorLimit(current: current, highest: highest).raised(for: connections).current
    }
    #expect(raised(1024, 1_048_576, for: 1024) == 1280)
    #expect(raised(1024, .max, for: 20_000) == 20_256)
    #expect(raised(1024, 1100, for: 1024) == 1100)
    #expect(raised(65_536, 65_536, for: 1024) == 65_536)
    #expect(raised(64, .max, for: .max) == .max)
  }

  @Test("bounds the senders' connections, so that the relay's own files have room")
  func connections() {
    func connections(_ limit: Int, _ configured: Int) -> Int {
      DescriptorLimit(current: limit, highest: limit).connections(of: configured)
    }
    #expect(connections(1280, 1024) == 1024)
    #expect(connections(1024, 1024) == 768)
    #expect(connections(300, 1024) == 75)
    #expect(connections(64, 1024) == 16)
    #expect(connections(64, 10) == 10)
    #expect(connections(1, 1024) == 1)
  }
}
