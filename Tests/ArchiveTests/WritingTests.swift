import Clocks
import Foundation
import TestSupport
import Testing

@testable import Archive

@Suite struct WritingTests {
  private let bench = ArchiveBench()

  @Test func `Published files are whole, named by time and numbers, and verify`() throws {
    let files = try bench.publish(files: 3, of: 10)
    #expect(
      bench.names == [
        "20261130T112447.123Z-00000000000000000001-00000000000000000010.ndjson.gz",
        "20261130T112447.123Z-00000000000000000001-00000000000000000010.salts",
        "20261130T112547.123Z-00000000000000000011-00000000000000000020.ndjson.gz",
        "20261130T112547.123Z-00000000000000000011-00000000000000000020.salts",
        "20261130T112647.123Z-00000000000000000021-00000000000000000030.ndjson.gz",
        "20261130T112647.123Z-00000000000000000021-00000000000000000030.salts", "manifest.ndjson",
      ])
    for file in files { #expect(try bench.gzipAccepts(file.name.lines)) }
    let report = try bench.verify()
    #expect(report.faults == [] && report.notes == [] && report.missingNumbers == 0)
    #expect(report.checkedFiles == 3 && report.entries == 4 && report.extent.events == 30)
    #expect(report.head == bench.writer.head.hash)
    #expect(try bench.sequences() == Array(1...30))
  }
}
