import TestSupport
import Testing

@testable import EventLog

@Suite("What is looked at once more")
struct LookingAgainTests {
  let directory = TemporaryDirectory()

  @Test("a segment that was to go, when who would have given it up is taken back before it goes")
  func takenBack() throws {
    var fixture = LogFixture(directory: directory.path)
    // Nothing goes by itself.
    fixture.configuration.retain = .seconds(3600)
    let log = try fixture.open()
    let upstream = try log.subscribe("upstream", origin: .oldest)
    _ = try log.subscribe("raw", origin: .oldest)
    try log.takeBack("raw")
    _ = try log.subscribe("raw", origin: .newest)
    try log.yield("raw", from: 1)
    for i in 0..<400 { log.put(i..<i + 1) }
    upstream.acknowledge(.all, 1...400, Tally(.delivered, 400))
    try upstream.commit(attachment: nil)
    let chosen = log.keeper.files.monitor.withLock { log.keeper.settledSegments() }
    #expect(!chosen.isEmpty)
    try log.takeBack("raw")
    #expect(log.keeper.files.monitor.withLock { log.keeper.yielded(chosen) }.isEmpty)
    let back = try log.subscribe("raw", origin: .newest)
    #expect(try back.readAll(.all).map(\.sequence) == Array(1...400))
    #expect(back.ledger.isBalanced && back.ledger.dropped == 0)
  }

  @Test("directories of segments that change meanwhile, until they stay; nothing else is tried again")
  func directories() throws {
    let log = try LogFixture(directory: directory.path).open()
    var looks = 0
    let found = try log.catalog.lookThrough { () throws(LogError) in
      looks += 1
      if looks < 3 { throw .segmentRemoved }
      return looks
    }
    #expect(found == 3)
    let error = #expect(throws: LogError.self) {
      try log.catalog.lookThrough { () throws(LogError) in
        looks += 1
        throw LogError("the disk is gone")
      }
    }
    #expect(error?.description == "the disk is gone" && looks == 4)
  }
}
