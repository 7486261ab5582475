import Clocks
import Foundation
import TestSupport
import Testing

@testable import Archive

/// Whatever is done to an archive behind the relay's back is found, and named.
@Suite struct TamperingTests {
  private let bench = ArchiveBench()
  private let files: [ManifestFile]
  private var lines: String { files[1].name.lines }
  private var salts: String { files[1].name.salts }

  init() throws {
    files = try bench.publish(files: 3, of: 20)
    bench.close()
  }

  /// What `verify` says first.
  private func fault() throws -> ArchiveFault {
    let report = try bench.verify()
    return try #require(report.faults.first, "nothing was found")
  }

  @Test func `Any flipped bit of a file of lines is found in that file`() throws {
    let whole = bench.bytes(lines)
    // (Every other byte, and another bit each time: more would only take longer.)
    for at in stride(from: 0, to: whole.count, by: 2) {
      bench.change(lines) { $0[at] ^= 1 << UInt8(at / 2 % 8) }
      let report = try bench.verify()
      #expect(report.faults.map(\.file) == [lines], "byte \(at): \(report.faults)")
      #expect(report.checkedFiles == 2)
      bench.write(lines, whole)
    }
  }

  @Test func `Any flipped bit of a file of salts is found in that file`() throws {
    let whole = bench.bytes(salts)
    for at in stride(from: 0, to: whole.count, by: 2) {
      bench.change(salts) { $0[at] ^= 1 << UInt8(at / 2 % 8) }
      let report = try bench.verify()
      #expect(report.faults.map(\.file) == [salts], "byte \(at): \(report.faults)")
      bench.write(salts, whole)
    }
  }

  @Test func `Any flipped bit of the manifest is found in its line`() throws {
    let whole = bench.bytes("manifest.ndjson")
    for at in stride(from: 0, to: whole.count, by: 5) {
      let line = 1 + whole[..<at].count { $0 == 0x0A }
      bench.change("manifest.ndjson") { $0[at] ^= 1 << UInt8(at % 7) }
      let fault = try fault()
      #expect(fault.file == "manifest.ndjson", "byte \(at): \(fault)")
      // A line feed that comes or goes makes two lines of one, or one of two.
      #expect(fault.line == line, "byte \(at): \(fault)")
      bench.write("manifest.ndjson", whole)
    }
  }

  private func text(_ name: String) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/bin/gzip")
    process.arguments = ["-dc", bench.file(name)]
    process.standardOutput = pipe
    try process.run()
    defer { process.waitUntilExit() }
    return String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  }

  /// Compresses a text in place of a published file.
  private func compress(_ text: String, as name: String) throws {
    let path = bench.directory.write("text", text)
    let process = Process()
    process.executableURL = URL(filePath: "/bin/gzip")
    process.arguments = ["-nf", path]
    try process.run()
    process.waitUntilExit()
    bench.write(name, try #require(readFile(path + ".gz")))
  }

  @Test func `A line that was taken out is named by the place it had`() throws {
    var rest = try text(lines).split(separator: "\n")
    rest.remove(at: 6)
    try compress(rest.joined(separator: "\n") + "\n", as: lines)
    #expect(try bench.gzipAccepts(lines))
    let fault = try fault()
    #expect(fault.file == lines && fault.line == 7)
    #expect(fault.detail.hasPrefix("is not the line that was archived: event 28 follows event 26 there"), "\(fault)")
  }

  @Test func `The last line, taken out, is missed`() throws {
    let rest = try text(lines).split(separator: "\n").dropLast()
    try compress(rest.joined(separator: "\n") + "\n", as: lines)
    let fault = try fault()
    #expect(fault.description == "\(lines): has 19 lines, and there are salts of more")
  }

  @Test func `A line that was changed, or put in, is named`() throws {
    let whole = try text(lines)
    try compress(whole.replacingOccurrences(of: #""n":33}"#, with: #""n":34}"#), as: lines)
    #expect(try fault().description.hasPrefix("\(lines), line 13: is not the line that was archived: event 33"))
    try compress(whole + ArchiveBench.line(41, at: bench.now) + "\n", as: lines)
    #expect(try fault().description.hasPrefix("\(lines), line 21: is one too many: 20 lines were archived"))
  }

  @Test func `A file that was compressed anew has the right lines and other bytes`() throws {
    try compress(try text(lines), as: lines)
    #expect(try fault().description.hasPrefix("\(lines): has the lines that were archived, but other bytes"))
  }

  @Test func `A file of the same archive in another's place is told from which`() throws {
    bench.write(lines, bench.bytes(files[2].name.lines))
    let fault = try fault()
    #expect(fault.file == lines && fault.line == 1)
    #expect(fault.detail.hasSuffix("those of \(files[2].name.lines) of this archive: another file is in its place"))
    bench.write(salts, bench.bytes(files[2].name.salts))
    #expect(
      try self.fault().description
        == "\(salts): belongs to the file that begins with event 41: another file is in its place")
  }

  @Test(arguments: ["r-1", "r-2"]) func `A file from another archive is told as one`(relay: String) throws {
    let other = ArchiveBench()
    other.relay = relay
    try other.publish(files: 3, of: 20)
    // Of the same time and numbers: only what is in it tells.
    #expect(other.names == bench.names)
    bench.write(salts, other.bytes(salts))
    let id = try #require(try other.verify().begin?.archive)
    #expect(try fault().description.hasPrefix("\(salts): is from another archive, \(id)"))
    // (Of one relay, the same events are the same lines.)
    guard relay == "r-2" else { return }
    let own = ArchiveBench()
    try own.publish(files: 3, of: 20)
    for name in [files[1].name.lines, files[1].name.salts] {
      own.write(name.replacingOccurrences(of: "112547", with: "112548"), other.bytes(name))
    }
    let added = try own.verify().faults
    #expect(added.count == 1 && added.first?.detail.hasPrefix("is from another archive, \(id)") == true, "\(added)")
    for name in own.names where name.contains("112548") { unlink(own.file(name)) }
    own.write(lines, other.bytes(lines))
    let fault = try #require(try own.verify().faults.first)
    #expect(fault.file == lines && fault.line == 1)
    #expect(fault.detail.hasSuffix("the line is of another relay: the file is from another archive"))
  }

  @Test func `A file that was removed is missed, and one that was added is named`() throws {
    unlink(bench.file(lines))
    #expect(try fault().description == "\(lines): is missing, and the manifest has no line about its removal")
    unlink(bench.file(salts))
    let report = try bench.verify()
    #expect(report.faults.map(\.file) == [lines, salts] || report.faults.map(\.file) == [lines])
  }

  @Test func `Salts that were removed are missed`() throws {
    unlink(bench.file(salts))
    #expect(try fault().description == "\(salts): is missing, and the manifest has no line about its removal")
  }

  @Test func `A file that was added is named`() throws {
    let name = "20261130T112548.000Z-00000000000000000025-00000000000000000026.ndjson.gz"
    bench.write(name, bench.bytes(lines))
    #expect(
      try fault().description
        == "\(name): is not in the manifest: the manifest was cut before it, or the file was added")
    unlink(bench.file(name))
    bench.write("more.ndjson.gz", [])
    #expect(try fault().description == "more.ndjson.gz: is no file of this archive: it was added")
    unlink(bench.file("more.ndjson.gz"))
    bench.write("README", [])
    let report = try bench.verify()
    #expect(report.isWhole && report.notes == ["README is no part of the archive"])
  }

  @Test func `A manifest cut within a line, or at a line's end, is told`() throws {
    let whole = bench.bytes("manifest.ndjson")
    let last = (bench.manifestLines.last ?? "").utf8.count
    bench.write("manifest.ndjson", Array(whole.dropLast(100)))
    #expect(try fault().description.hasPrefix("manifest.ndjson, line 4: is cut off after \(last + 1 - 100) bytes"))
    bench.write("manifest.ndjson", Array(whole.dropLast(last + 1)))
    #expect(
      try fault().description
        == "\(files[2].name.lines): is not in the manifest: the manifest was cut before it, or the file was added")
    bench.write("manifest.ndjson", [])
    #expect(try fault().description == "manifest.ndjson, line 1: is missing: the manifest was truncated")
    unlink(bench.file("manifest.ndjson"))
    #expect(throws: ArchiveError.noManifest(bench.path, hasFiles: true)) { try bench.verify() }
  }

  @Test func `Half a line of a manifest that is open for writing is on its way`() throws {
    bench.change("manifest.ndjson") { $0 += Array("{\"type\"".utf8) }
    #expect(try fault().description.hasPrefix("manifest.ndjson, line 5: is cut off after 7 bytes"))
    let descriptor = Glibc.open(bench.file("manifest.ndjson"), O_RDWR)
    defer { close(descriptor) }
    #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    let report = try bench.verify()
    #expect(report.isWhole && report.notes == ["the manifest's next line is being written"])
  }

  @Test func `A manifest cut together with its files is told by a head that was noted`() throws {
    let (whole, head) = (bench.bytes("manifest.ndjson"), try bench.verify().head)
    #expect(try bench.verify(noted: head).isWhole)
    let last = (bench.manifestLines.last ?? "").utf8.count
    bench.write("manifest.ndjson", Array(whole.dropLast(last + 1)))
    unlink(bench.file(files[2].name.lines))
    unlink(bench.file(files[2].name.salts))
    #expect(try bench.verify().isWhole)
    let cut = try bench.verify(noted: head)
    #expect(cut.faults.first?.description.hasPrefix("manifest.ndjson: has no line with the hash \(head)") == true)
    let earlier = try bench.verify().head
    bench.write("manifest.ndjson", whole)
    #expect(try bench.verify(noted: earlier).noted?.entry == 3)
  }

  @Test func `Entries that were taken out or swapped break the chain`() throws {
    var rest = bench.manifestLines
    rest.remove(at: 2)
    bench.write("manifest.ndjson", Array((rest.joined(separator: "\n") + "\n").utf8))
    #expect(try fault().description.hasPrefix("manifest.ndjson, line 3: doesn't follow the line before"))
    rest = bench.manifestLines
    bench.write("manifest.ndjson", Array(([rest[1]] + rest).map { $0 + "\n" }.joined().utf8))
    #expect(try fault().description.hasPrefix("manifest.ndjson, line 1: is not the first of its manifest"))
  }

  @Test func `A publication that is under way is no fault`() throws {
    let name = files[2].name
    rename(bench.file(name.lines), bench.file(name.open.lines))
    var report = try bench.verify()
    #expect(report.isWhole && report.notes == ["the publication of \(name.lines) is under way"])
    rename(bench.file(name.salts), bench.file(name.open.salts))
    report = try bench.verify()
    #expect(report.isWhole && report.checkedFiles == 3 && report.openFiles == [])
    #expect(try bench.sequences() == Array(1...60))
  }
}
