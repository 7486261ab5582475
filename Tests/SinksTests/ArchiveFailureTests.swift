import Archive
import Clocks
import Foundation
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite struct ArchiveFailureTests {
  private let bench = ArchiveSinkBench()

  private func write(_ count: Int) {
    bench.add(count)
    bench.run()
    bench.time = bench.time + .seconds(3600)
  }

  private func heals() {
    bench.now += .seconds(60)
    bench.run()
    #expect(bench.worker.condition.failure == nil)
  }

  @Test(arguments: [FileError.Operation.write, .sync, .rename, .create, .syncDirectory])
  func `Whatever fails, the events wait and each is archived once`(operation: FileError.Operation) throws {
    for _ in 0..<3 {
      write(4)
      bench.faults[operation] = operation == .sync ? EIO : ENOSPC
      write(4)
      #expect(bench.worker.condition.failure?.contains("tried again") == true)
      bench.faults.clear()
      heals()
    }
    bench.worker.finish()
    #expect(try bench.sequences() == Array(1...24))
    #expect(try bench.verify().faults == [])
  }

  @Test func `A disk that runs low pauses the sink`() throws {
    write(2)
    bench.isDiskLow.isSet = true
    bench.now += .seconds(2)
    bench.add(2)
    bench.run()
    #expect(bench.worker.condition.failure?.contains("min_free_disk") == true)
    bench.isDiskLow.isSet = false
    heals()
    bench.worker.finish()
    #expect(try bench.sequences() == Array(1...4))
  }

  @Test func `Another relay's directory is left alone until it is another's no more`() throws {
    write(2)
    bench.worker.finish()
    let before = bench.names
    let other = ArchiveSinkBench()
    other.options.directory = bench.path
    other.relay = "r-2"
    other.restart()
    other.add(2)
    other.run()
    #expect(other.worker.condition.failure?.contains("archive of another relay, r-1") == true)
    #expect(bench.names == before)
    rename(bench.path, bench.directory.file("theirs"))
    other.now += .seconds(60)
    other.run()
    #expect(other.worker.condition.failure == nil)
    other.worker.finish()
    #expect(try other.verify().begin?.relay == "r-2")
  }

  @Test func `A broken manifest stops the sink until it is put back`() throws {
    write(2)
    write(2)
    bench.worker.finish()
    let path = bench.path + "/manifest.ndjson"
    let whole = try #require(readFile(path))
    var broken = whole
    broken[100] ^= 1
    try Data(broken).write(to: URL(filePath: path))
    bench.restart()
    write(2)
    #expect(bench.worker.condition.failure?.contains("manifest.ndjson, line 1: was changed") == true)
    try Data(whole).write(to: URL(filePath: path))
    heals()
    bench.worker.finish()
    #expect(try bench.sequences() == Array(1...6))
    #expect(try bench.verify().faults == [])
  }

  @Test func `A manifest that lost its last entries stops the sink`() throws {
    write(2)
    write(2)
    bench.worker.finish()
    let path = bench.path + "/manifest.ndjson"
    let whole = try #require(readFile(path))
    let shorter = whole.dropLast().prefix { _ in true }
    let end = try #require(shorter.lastIndex(of: 0x0A))
    try Data(whole[...end]).write(to: URL(filePath: path))
    bench.restart()
    write(2)
    #expect(bench.worker.condition.failure?.contains("has 2 entries") == true)
    unlink(path)
    heals(failing: "has files of an archive, and no manifest.ndjson")
    try Data(whole).write(to: URL(filePath: path))
    heals()
    bench.worker.finish()
    #expect(try bench.verify().faults == [])
    #expect(try bench.sequences() == Array(1...6))
  }

  private func heals(failing text: String) {
    bench.now += .seconds(60)
    bench.run()
    #expect(bench.worker.condition.failure?.contains(text) == true)
  }

  @Test func `A half line at the manifest's end is cut off`() throws {
    write(2)
    bench.worker.finish()
    let path = bench.path + "/manifest.ndjson"
    let handle = try #require(FileHandle(forWritingAtPath: path))
    handle.seekToEndOfFile()
    handle.write(Data(#"{"type":"file","n":3"#.utf8))
    let torn = try bench.verify()
    #expect(torn.faults.first?.description.contains("manifest.ndjson, line 3: is cut off after 20 bytes") == true)
    bench.restart()
    write(2)
    bench.worker.finish()
    #expect(try bench.verify().faults == [])
    #expect(bench.said.value.contains { $0.contains("half a line of the manifest was cut off") })
  }

  @Test func `A directory that was moved is finished there, and the next archive says what it continues`() throws {
    write(3)
    bench.add(2)
    bench.run(settles: false)
    let moved = bench.directory.file("moved")
    rename(bench.path, moved)
    bench.now += .seconds(2)
    bench.run()
    write(2)
    bench.worker.finish()
    #expect(try bench.sequences(in: moved) == Array(1...5))
    let old = try ArchiveVerification.verify(moved)
    #expect(old.faults == [] && old.openFiles == [])
    let new = try bench.verify()
    #expect(
      new.faults == [] && new.begin?.continues == old.begin.map { ArchiveHead(archive: $0.archive, hash: old.head) })
    #expect(try bench.sequences() == [6, 7])
  }

  @Test func `A directory that was removed is begun anew, and what is missing is told`() throws {
    write(3)
    try FileManager.default.removeItem(atPath: bench.path)
    bench.now += .seconds(2)
    bench.run()
    write(2)
    bench.worker.finish()
    #expect(try bench.sequences() == [4, 5])
    let report = try bench.verify()
    #expect(report.faults == [] && report.begin?.continues != nil)
    #expect(bench.said.value.contains { $0.contains("events are missing from the archive") && $0.contains("last=3") })
  }

  @Test func `One at a time writes an archive`() throws {
    write(2)
    let other = ArchiveSinkBench()
    other.options.directory = bench.path
    other.restart()
    other.add(1)
    other.run()
    #expect(other.worker.condition.failure?.contains("another process, or another sink, writes it") == true)
    bench.worker.finish()
    #expect(try bench.sequences() == [1, 2])
  }

  @Test func `An open file that was damaged is set aside, and what is missing is told`() throws {
    write(20)
    bench.restart()
    let part = try #require(bench.parts.first)
    var bytes = try #require(readFile("\(bench.path)/\(part)"))
    bytes[bytes.count / 2] ^= 0x10
    try Data(bytes).write(to: URL(filePath: "\(bench.path)/\(part)"))
    write(2)
    bench.worker.finish()
    #expect(try bench.sequences() == [21, 22])
    #expect(bench.names.contains(part + ".aside"))
    #expect(bench.said.value.contains { $0.contains("events are missing from the archive") && $0.contains("last=20") })
    let report = try bench.verify()
    #expect(report.faults == [] && report.notes.count == 2)
  }
}
