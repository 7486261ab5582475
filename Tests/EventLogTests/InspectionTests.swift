import Clocks
import EventLog
import TestSupport
import Testing

@testable import EventLog

@Suite("Looking at a log")
struct InspectionTests {
  let directory = TemporaryDirectory()
  var fixture: LogFixture { LogFixture(directory: directory.path) }

  private func contents() -> [String: [UInt8]] {
    let log = directory.file("log")
    var out: [String: [UInt8]] = [:]
    for name in (try? RealDisk().list(log)) ?? [] { out[name] = readFile("\(log)/\(name)") }
    return out
  }

  @Test("tells what is in it, from either directory, while a relay runs, and changes nothing")
  func inspect() throws {
    let log = try fixture.open()
    for i in 0..<40 { log.put(app: "app\(i % 2)", at: 1000 + Int64(i), i * 2..<i * 2 + 2, size: 100) }
    let before = contents()
    for path in [directory.path, directory.file("log")] {
      for report in [try LogInspection.inspect(path), try LogInspection.verify(path)] {
        #expect(report.directory == directory.file("log"))
        #expect(report.frames == 40 && report.events == 80 && report.damages.isEmpty)
        #expect(report.firstSequence == 1 && report.lastSequence == 80)
        #expect(report.segments.count == log.statistics.segments)
        #expect(report.segments.dropLast().allSatisfy { $0.state == .sealed })
        #expect(report.segments.last?.state == .active && report.segments.last?.unfinishedBytes == 0)
        #expect(report.apps.map(\.name) == ["app0", "app1"])
        #expect(report.apps.allSatisfy { $0.frames == 20 && $0.events == 40 })
        #expect(report.apps[1].firstSequence == 3 && report.apps[1].lastSequence == 80)
        #expect(report.apps[0].oldestReceivedAt == Timestamp(milliseconds: 1000))
        #expect(report.apps[1].newestReceivedAt == Timestamp(milliseconds: 1039))
        #expect(report.apps[0].earliestOccurredAt == Timestamp(milliseconds: 0))
        #expect(report.apps[1].latestOccurredAt == Timestamp(milliseconds: 79_000))
      }
    }
    #expect(contents() == before)
  }

  @Test("verify finds every damaged byte that matters, with file, offset and lost numbers")
  func verify() throws {
    let log = try fixture.open()
    for i in 0..<40 { log.put(i..<i + 1, size: 100) }
    log.close()
    let path = directory.file("log/segment-000000000001.log")
    var bytes = try #require(readFile(path))
    let trailer = bytes.count - SegmentFooter.trailerSize
    let footer = Int(bytes.number(trailer + 24, as: UInt64.self))
    // The second record's payload, and a list of the directory.
    bytes[1024 + 200] ^= 1
    bytes[footer + SegmentFooter.headSize + 2 * SegmentFooter.rowSize + 3] ^= 1
    let file = try RealDisk().open(path, .readWrite)
    try file.writeBytes(bytes, at: 0)
    var calls = 0
    let report = try LogInspection.verify(directory.path) { done, total in
      calls += 1
      #expect(done <= total)
    }
    #expect(calls == report.segments.count)
    let record = try #require(report.damages.first { $0.detail == "a record" })
    #expect(record.file == "segment-000000000001.log" && record.offset == 1024 && record.lostSequences == 2...2)
    #expect(record.app == "ios")
    #expect(report.damages.contains { $0.detail == "a part of the directory" })
    #expect(report.lostEvents == 1 && report.isDamaged)
    #expect(try !LogInspection.inspect(directory.path).isDamaged)
  }

  @Test("says so where there is no log")
  func none() throws {
    #expect(throws: LogError.self) { try LogInspection.inspect(directory.path) }
    #expect(throws: LogError.self) { try LogInspection.verify(directory.file("none")) }
  }
}
