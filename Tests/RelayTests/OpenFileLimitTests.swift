import Testing

@testable import Relay

@Suite("The limit of open files")
struct OpenFileLimitTests {
  @Test(
    "leaves the relay its own files, and senders at least half",
    arguments: [(1024, 1216, 1024), (1024, 1024, 832), (1024, 256, 128), (16, 64, 16), (1024, 64, 32), (5, 1, 1)])
  func connections(configured: Int, limit: Int, fitting: Int) {
    #expect(OpenFileLimit.connections(configured, under: limit) == fitting)
  }
}
