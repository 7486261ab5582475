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

  @Test(arguments: [[true, true], [true, false], [false, true]])
  func `A publication that a crash interrupted is finished`(isBehind: [Bool]) throws {
    let name = try #require(try bench.publish(files: 1, of: 10).first?.name)
    bench.close()
    if isBehind[0] { rename(bench.file(name.lines), bench.file(name.open.lines)) }
    if isBehind[1] { rename(bench.file(name.salts), bench.file(name.open.salts)) }
    try bench.open()
    #expect(bench.writer.notes == [.published(file: name.lines)])
    #expect(bench.names == [name.lines, name.salts, "manifest.ndjson"])
    try bench.publish(files: 1, of: 10)
    #expect(try bench.verify().isWhole && bench.sequences() == Array(1...20))
  }

  @Test func `An open file that was cut anywhere goes on behind its last whole member`() throws {
    try bench.open()
    var ends = [0]
    for _ in 0..<3 {
      try bench.append(5)
      try bench.sync()
      ends.append(bench.writer.openFile?.bytes ?? 0)
    }
    let name = try #require(bench.names.first { $0.hasSuffix(".gz.part") })
    let salts = try #require(bench.names.first { $0.hasSuffix(".salts.part") })
    let (whole, wholeSalts) = (bench.bytes(name), bench.bytes(salts))
    for length in stride(from: 0, through: whole.count, by: 3) {
      bench.close()
      bench.write(name, Array(whole[..<length]))
      bench.write(salts, wholeSalts)
      // Nothing is known but the files.
      bench.memory = nil
      try bench.open()
      let members = ends.lastIndex { $0 <= length } ?? 0
      #expect(bench.writer.lastSequence == (members > 0 ? UInt64(5 * members) : nil), "\(length) bytes")
      #expect(bench.writer.openFile?.bytes == (members > 0 ? ends[members] : nil))
    }
    for length in stride(from: 0, through: wholeSalts.count, by: 3) {
      bench.close()
      bench.write(name, whole)
      bench.write(salts, Array(wholeSalts[..<length]))
      try bench.open()
      let members = max(0, length - SaltsFormat.headBytes) / SaltsFormat.saltRecordBytes / 5
      #expect(bench.writer.lastSequence == (members > 0 ? UInt64(5 * members) : nil), "\(length) bytes of salts")
    }
  }

  @Test func `A part without its salts is set aside, and an empty one is forgotten`() throws {
    try bench.open()
    try bench.append(5)
    try bench.sync()
    let part = try #require(bench.names.first { $0.hasSuffix(".gz.part") })
    unlink(bench.file(part.replacingOccurrences(of: ".ndjson.gz", with: ".salts")))
    bench.close()
    bench.write("20261130T112448.000Z-00000000000000000009.salts.part", [])
    try bench.open()
    #expect(bench.names == [part + ".aside", "manifest.ndjson"])
    #expect(bench.writer.notes.contains(.missing(file: part, first: 1, last: 5)))
  }

  @Test
  func `A manifest's last line of which a cut of power kept only the end is cut off, and its file published again`()
    throws
  {
    try bench.publish(files: 1, of: 10)
    try bench.append(5)
    try bench.sync()
    let parts = bench.names.filter { $0.hasSuffix(".part") }.map { ($0, bench.bytes($0)) }
    let (committed, start) = (bench.memory, bench.bytes("manifest.ndjson").count)
    let old = Set(bench.names)
    try bench.publish()
    let whole = bench.bytes("manifest.ndjson")
    let published = bench.names.filter { !old.contains($0) }
    #expect(parts.count == 2 && published.count == 2)
    for torn in [1, 100, whole.count - start - 1] {
      for garbage in [UInt8(0), UInt8(ascii: "\n"), UInt8(ascii: "x")] {
        bench.close()
        for name in published { unlink(bench.file(name)) }
        for (name, bytes) in parts { bench.write(name, bytes) }
        bench.write("manifest.ndjson", whole)
        bench.change("manifest.ndjson") { for at in start..<start + torn { $0[at] = garbage } }
        bench.memory = committed
        try bench.open()
        #expect(bench.writer.notes.contains(.manifestCut(bytes: whole.count - start)), "\(torn) of \(garbage)")
        try bench.publish()
        #expect(try bench.sequences() == Array(1...15))
        #expect(try bench.verify().faults.isEmpty)
      }
    }
    // A line that was synced is no such thing: its file has its name, or it was committed.
    for memory in [committed, bench.memory] {
      bench.close()
      bench.change("manifest.ndjson") { $0[start + 20] ^= 1 }
      bench.memory = memory
      #expect(throws: ArchiveError.self) { try bench.open() }
      bench.change("manifest.ndjson") { $0[start + 20] ^= 1 }
    }
  }

  @Test func `A part whose events are published already is set aside`() throws {
    try bench.publish(files: 2, of: 10)
    try bench.append(5)
    try bench.sync()
    bench.close()
    let part = try #require(bench.names.first { $0.hasSuffix(".gz.part") })
    let salts = part.replacingOccurrences(of: ".ndjson.gz", with: ".salts")
    let old = "20261130T112447.123Z-00000000000000000005"
    for (name, ending) in [(part, ".ndjson.gz.part"), (salts, ".salts.part")] {
      bench.write(old + ending, bench.bytes(name))
    }
    try bench.open()
    #expect(bench.writer.lastSequence == 25)
    #expect(
      bench.names.filter { $0.hasSuffix(".aside") } == [old + ".ndjson.gz.part.aside", old + ".salts.part.aside"])
    try bench.publish(files: 1, of: 2)
    #expect(try bench.sequences() == Array(1...27))
  }
}
