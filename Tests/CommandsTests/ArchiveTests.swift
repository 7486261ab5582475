import Archive
import Clocks
import Foundation
import JSON
import TestSupport
import Testing

@testable import Commands

@Suite struct ArchiveCommandTests {
  private let directory = TemporaryDirectory()
  private var path: String { directory.file("archive") }

  private func line(_ sequence: UInt64, _ time: Timestamp) -> String {
    #"{"received_at":"\#(time)","relay":"r-1","app":"ios","kind":"event","seq":\#(sequence),"event":"#
      + #"{"name":"opened","user_id":"u\#(sequence % 2)"}}"#
  }

  /// Makes an archive of two files, an hour apart, with two events each, and perhaps an open one.
  private func makeArchive(opens: Bool = false) throws {
    let writer = try ArchiveWriter(
      ArchiveWriter.Place(path: path, relay: "r-1", sink: "audit"), memory: nil, now: testTime)
    for file in 0..<(opens ? 3 : 2) {
      let time = testTime + .seconds(3600 * (file - 2))
      let first = UInt64(2 * file + 1)
      try writer.begin(at: time, first: first)
      for sequence in first...first + 1 {
        let bytes = Array((line(sequence, time) + "\n").utf8)
        let notes = [ArchiveLine(length: bytes.count, sequence: sequence, receivedAt: time)]
        try bytes.withUnsafeBytes { bytes in
          try Result { () throws(ArchiveError) in try writer.append(bytes, notes[...]) }.get()
        }
      }
      try writer.sync()
      if file < 2 { _ = try writer.publish(at: time) }
    }
  }

  private let second = "20261130T070000.000Z-00000000000000000003-00000000000000000004.ndjson.gz"

  @Test func `An archive's files are listed`() async throws {
    try makeArchive(opens: true)
    let ran = await run("archive", "list", path)
    #expect(ran.code == 0)
    #expect(ran.out.hasPrefix("FILE  NAME"))
    #expect(ran.out.contains("\n   2  \(second)       2"), "\(ran.out)")
    #expect(ran.err == "20261130T080000.000Z-00000000000000000005.ndjson.gz.part is open and not published yet\n")
    let json = try await run("archive", "list", path, "--json").out.split(separator: "\n").map {
      try JSONValue(parsing: String($0))
    }
    #expect(json.count == 2 && json[1]["name"]?.string == second && json[1]["first_seq"] == 3)
  }

  @Test func `A whole archive verifies, and a broken one is named by file and line`() async throws {
    try makeArchive()
    let whole = await run("archive", "verify", path)
    #expect(whole.code == 0 && whole.err.isEmpty)
    #expect(whole.out.hasSuffix("\n\nall of it is what was archived\n"), "\(whole.out)")
    let json = try JSONValue(parsing: await run("archive", "verify", path, "--json").out)
    #expect(json["whole"] == true && json["events"] == 4 && json["missing_numbers"] == 0 && json["last_seq"] == 4)
    let head = try #require(json["head"]?.string)
    #expect(await run("archive", "verify", path, "--head", head).out.contains("the head is the noted one"))
    let file = directory.file("archive/\(second)")
    var bytes = try #require(readFile(file))
    bytes[4] ^= 1
    try Data(bytes).write(to: URL(filePath: file))
    let broken = await run("archive", "verify", path)
    #expect(broken.code == 1)
    #expect(broken.out.contains("\n\(second): has the lines that were archived, but other bytes"), "\(broken.out)")
    #expect(broken.out.hasSuffix("1 fault, the first of them first\n"))
    let faults = try JSONValue(parsing: await run("archive", "verify", path, "--json").out)["faults"]?.array
    #expect(faults?.first?["file"]?.string == second)
  }

  @Test func `A head that isn't the archive's fails, and one that is no hash is wrong usage`() async throws {
    try makeArchive()
    let other = String(repeating: "0", count: 64)
    let ran = await run("archive", "verify", path, "--head", other)
    #expect(ran.code == 1 && ran.out.contains("manifest.ndjson: has no line with the hash \(other) that was noted"))
    let wrong = await run("archive", "verify", path, "--head", "12")
    #expect(wrong.code == 2 && wrong.err.contains("--head wants the 64 hexadecimal digits of a hash, not \"12\""))
  }

  @Test func `Progress is drawn on a terminal`() async throws {
    try makeArchive()
    let ran = await run("archive", "verify", path, terminal: Terminal(width: 80))
    #expect(ran.err.contains("[") && ran.err.hasSuffix(ProgressBar.clear))
  }

  @Test func `An archive's events are printed as they are, those that are meant`() async throws {
    try makeArchive(opens: true)
    let all = await run("archive", "cat", path)
    let times = [testTime - .seconds(7200), testTime - .seconds(3600)]
    let lines = (1...4).map { line(UInt64($0), times[($0 - 1) / 2]) }
    #expect(all.code == 0 && all.out == lines.map { $0 + "\n" }.joined())
    #expect(all.err.hasPrefix("20261130T080000.000Z-00000000000000000005.ndjson.gz.part is open"))
    #expect(await run("archive", "cat", path, "--user-id", "u1").out == lines[0] + "\n" + lines[2] + "\n")
    #expect(await run("archive", "cat", path, "--since", "90m").out == lines[2] + "\n" + lines[3] + "\n")
    let until = await run("archive", "cat", path, "--until", "2026-11-30T07:00:00Z", "--name", "opened", "--app", "ios")
    #expect(until.out == lines[0] + "\n" + lines[1] + "\n")
    #expect(await run("archive", "cat", path, "--anonymous-id", "x").out.isEmpty)
    let wrong = await run("archive", "cat", path, "--since", "tomorrow")
    #expect(wrong.code == 2 && wrong.err.contains("--since wants a time"))
  }

  @Test func `A damaged file ends the printing and is named`() async throws {
    try makeArchive()
    let file = directory.file("archive/\(second)")
    try Data((readFile(file) ?? []).dropLast(3)).write(to: URL(filePath: file))
    let ran = await run("archive", "cat", path)
    #expect(ran.code == 1 && ran.out.hasPrefix(line(1, testTime - .seconds(7200))))
    #expect(ran.err == "event-relay archive cat: \(file) is cut off: its last gzip member isn't whole\n", "\(ran.err)")
  }

  @Test(arguments: ["list", "verify", "cat"])
  func `A directory without an archive says so`(command: String) async {
    let missing = await run("archive", command, directory.file("none"))
    #expect(missing.code == 1 && missing.out.isEmpty)
    #expect(missing.err == "event-relay archive \(command): there is no directory \(directory.file("none"))\n")
    let empty = await run("archive", command, directory.path)
    #expect(empty.code == 1 && empty.err.contains("\(directory.path) is no archive: it has no manifest.ndjson"))
  }
}
