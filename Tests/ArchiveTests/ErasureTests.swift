import Clocks
import Foundation
import TestSupport
import Testing

@testable import Archive

/// Erasing lines is for a later command; what it must leave behind is what verifying asks for now.
@Suite struct ErasureTests {
  private let bench = ArchiveBench()
  private let files: [ManifestFile]

  init() throws {
    files = try bench.publish(files: 2, of: 10)
    bench.close()
  }

  /// Writes a file anew without some lines, and says so in the manifest.
  private func erase(
    _ file: ManifestFile, _ ranges: [ClosedRange<Int>], keepsSalts: Bool = false, keepsLines: Bool = false,
    count: Int? = nil
  ) throws {
    let system = bench.directory
    let directory = try ArchiveDirectory(bench.path, on: .system)
    let lines = GzipLines(try directory.open(file.name.lines, O_RDONLY), path: "", on: .system)
    let salts = SaltsReader(try directory.open(file.name.salts, O_RDONLY), path: "", on: .system)
    let head = try salts.head()
    var newSalts = SaltsFormat.head(archive: head.archive, first: head.first)
    let (hasher, hash, gzip) = (MerkleHasher(), SHA256Stream(), GzipMembers())
    let out = system.write("new", "")
    let newLines = AppendedFile(Glibc.open(out, O_RDWR | O_APPEND), path: out, length: 0, on: .system)
    var (number, left) = (0, 0)
    while true {
      let item = try lines.next()
      if case .end = item { break }
      guard case .line(let line) = item, let record = try salts.next() else { continue }
      number += 1
      let isErased = ranges.contains { $0.contains(number) }
      switch record {
      case .erased(let leaf):
        newSalts.append(2)
        leaf.withUnsafeBytes { newSalts += $0 }
      case .salt(let salt, let check) where !isErased || keepsSalts:
        newSalts.append(1)
        newSalts += salt
        newSalts += check
      case .salt(let salt, _):
        newSalts.append(2)
        hasher.leaf(salt: salt, line: line).withUnsafeBytes { newSalts += $0 }
      }
      if !isErased || keepsLines {
        try gzip.add(line, to: newLines, hash)
        if !line.isEmpty { left += 1 }
      }
      try Array("\n".utf8).withUnsafeBytes { try gzip.add($0, to: newLines, hash) }
    }
    try gzip.endMember(in: newLines, hash)
    bench.write(file.name.salts, newSalts)
    bench.write(file.name.lines, readFile(out) ?? [])
    let erasure = ManifestErasure(
      file: file.file, name: file.name, lines: ranges, count: count ?? left,
      contents: FileContents(
        bytes: newLines.length, sha256: hash.end(), saltsBytes: newSalts.count,
        saltsSHA256: newSalts.withUnsafeBytes { SHA256Stream.digest($0) }), merkleRoot: file.merkleRoot)
    let chain = try ArchiveReader(directory: bench.path).chain()
    let entry = ManifestEntry(
      number: chain.entries + 1, at: bench.now, previous: chain.head, content: .erased(erasure))
    bench.change("manifest.ndjson") { $0 += entry.line.bytes }
  }

  @Test func `Erased lines leave their hashes, and the rest verifies`() throws {
    try erase(files[0], [2...3, 7...7])
    try erase(files[0], [10...10])
    let report = try bench.verify()
    #expect(report.faults == [], "\(report.faults)")
    #expect(report.extent.erasedLines == 4 && report.extent.events == 16 && report.missingNumbers == 0)
    #expect(try bench.sequences() == [1, 4, 5, 6, 8, 9] + Array(11...20))
    #expect(try bench.gzipAccepts(files[0].name.lines))
    // The archive goes on, and its reader's places are what they were.
    try bench.open()
    try bench.publish(files: 1, of: 2)
    #expect(try bench.verify().isWhole)
    var places: [Int] = []
    try ArchiveReader(directory: bench.path).forEachLine(from: ArchivePlace(file: files[0].name.lines, line: 7)) {
      place, _ in
      places.append(place.line)
      return places.count < 2
    }
    #expect(places == [8, 9])
  }

  @Test func `An erasure that is under way is no fault, and the writer finishes it`() throws {
    let old = (bench.bytes(files[1].name.lines), bench.bytes(files[1].name.salts))
    try erase(files[1], [4...4])
    for (name, bytes) in [(files[1].name.lines, old.0), (files[1].name.salts, old.1)] {
      rename(bench.file(name), bench.file(name + ".part"))
      bench.write(name, bytes)
    }
    let report = try bench.verify()
    #expect(report.faults == [] && report.notes.count == 2 && report.checkedFiles == 2)
    #expect(report.notes.first == "the erasure of lines of \(files[1].name.lines) is under way")
    try bench.open()
    #expect(try bench.verify().notes == [] && bench.names.allSatisfy { !$0.hasSuffix(".part") })
    #expect(try bench.sequences() == Array(1...13) + Array(15...20))
  }

  @Test func `More erased than the manifest says is found`() throws {
    try erase(files[1], [4...4])
    let right = bench.bytes("manifest.ndjson")
    try erase(files[1], [5...5])
    bench.write("manifest.ndjson", right)
    let fault = try #require(try bench.verify().faults.first)
    #expect(fault.description.contains("says that line 5 was erased, and the manifest doesn't"), "\(fault)")
  }

  @Test func `A salt or a line that is still there is found`() throws {
    try erase(files[0], [4...4], keepsSalts: true)
    try erase(files[1], [4...4], keepsLines: true)
    let faults = try bench.verify().faults.map(\.description)
    #expect(faults.count == 2)
    #expect(faults.first == "\(files[0].name.salts): still has the salt of line 4, which was erased")
    #expect(faults.last == "\(files[1].name.lines), line 4: is there, and was erased")
  }

  @Test func `A count that doesn't add up is found`() throws {
    try erase(files[0], [4...4], count: 8)
    #expect(try bench.verify().faults.first?.file == "manifest.ndjson")
  }

  @Test func `A line that is erased twice breaks the chain`() throws {
    try erase(files[0], [4...4])
    try erase(files[0], [3...5])
    #expect(try bench.verify().faults.first?.detail == "erases line 3 of file 1, which was erased before")
  }
}
