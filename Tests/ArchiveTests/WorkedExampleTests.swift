import Clocks
import Foundation
import JSON
import Records
import TestSupport
import Testing

@testable import Archive

/// The documentation's page Archive works an example through; what it says is computed here.
@Suite struct WorkedExampleTests {
  private let directory = TemporaryDirectory()
  /// 2026-11-30T11:24:47.123Z
  private let time = Timestamp(milliseconds: 1_796_037_887_123)
  private let lines: [String]
  private let name = ArchiveFileName(time: Timestamp(milliseconds: 1_796_037_887_123), first: 1, last: 3)

  /// 00 01 02 … ff 00 …: each time from the start.
  private static let counting: RandomBytes.Source = { bytes in
    for at in bytes.indices { bytes[at] = UInt8(truncatingIfNeeded: at) }
  }

  private static let page: String = {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return String(
      decoding: readFile(root.appending(path: "Sources/Relay/Docs.docc/Archive.md").path) ?? [], as: UTF8.self)
  }()

  init() {
    let time = time
    lines = ["one", "two", "three"].enumerated().map { number, event in
      ArchiveBench.line(UInt64(number + 1), at: time, event: #"{"name":"\#(event)"}"#)
    }
  }

  private func archive() throws -> String {
    let path = directory.file("archive")
    let writer = try ArchiveWriter(
      ArchiveWriter.Place(path: path, relay: "r-1", sink: "audit"), memory: nil, now: time, on: .system,
      random: Self.counting)
    try writer.begin(at: time, first: 1)
    let bytes = Array(lines.map { $0 + "\n" }.joined().utf8)
    let notes = lines.enumerated().map { number, line in
      ArchiveLine(length: line.utf8.count + 1, sequence: UInt64(number + 1), receivedAt: time)
    }
    try bytes.withUnsafeBytes { bytes in
      try Result { () throws(ArchiveError) in try writer.append(bytes, notes[...]) }.get()
    }
    try writer.sync()
    _ = try writer.publish(at: time + .seconds(60))
    return path
  }

  private func sha256(_ parts: [UInt8]...) -> [UInt8] {
    Array(parts.joined()).withUnsafeBytes { SHA256Stream.digest($0) }.withUnsafeBytes { Array($0) }
  }

  @Test func `The leaves, the nodes and the root are the page's`() throws {
    let leaves = lines.enumerated().map { number, line in
      sha256([0], (0..<16).map { UInt8(16 * number + $0) }, Array(line.utf8))
    }
    let left = sha256([1], leaves[0], leaves[1])
    let root = sha256([1], left, leaves[2])
    for hash in leaves + [left, root] { #expect(Self.page.contains(Hex.text(hash)), "\(Hex.text(hash))") }
    for line in lines { #expect(Self.page.contains("\n\(line)\n"), "\(line)") }
  }

  @Test func `The salts file is the page's, byte by byte`() throws {
    let salts = try #require(readFile("\(try archive())/\(name.salts)"))
    let text = Hex.text(salts)
    #expect(salts.count == 103)
    // The page shows them in pieces: the head in rows of 16 bytes, then a record in each row.
    var pieces = [text.prefix(32), text.dropFirst(32).prefix(32), text.dropFirst(64).prefix(16)]
    for record in 0..<3 { pieces.append(text.dropFirst(80 + 42 * record).prefix(42)) }
    for piece in pieces { #expect(Self.page.contains(piece), "\(piece)") }
  }

  @Test func `The manifest is the page's, but for what a compressor may do otherwise`() throws {
    let path = try archive()
    let written = readLines("\(path)/manifest.ndjson")
    let shown = Self.page.split(separator: "\n").map(String.init).filter {
      $0.hasPrefix(#"{""#) && $0.contains("\"previous\"")
    }
    try #require(shown.count == 2 && written.count == 2)
    #expect(shown[0] == written[0])
    // The page's second line is right by itself, and follows the first.
    var chain = ManifestChain()
    for line in shown {
      try Array(line.utf8).withUnsafeBytes { bytes in
        _ = try Result { () throws(ManifestFault) in try chain.take(bytes) }.get()
      }
    }
    // The members are the same but for the gzip file's bytes.
    func members(_ line: String) throws -> [JSONValue.Member] {
      (try JSONValue(parsing: line).members ?? []).filter { !["bytes", "sha256", "hash"].contains($0.key) }
    }
    #expect(try members(shown[1]) == members(written[1]))
    #expect(try ArchiveVerification.verify(path).isWhole)
  }

  @Test func `The gzip file that the page shows holds the lines and has the hash`() throws {
    let begin = try #require(Self.page.range(of: "\n1f8b08"))
    let end = try #require(Self.page.range(of: "```", range: begin.upperBound..<Self.page.endIndex))
    let digits = Self.page[begin.lowerBound..<end.lowerBound].filter { $0 != "\n" }
    let bytes = try #require(Hex.bytes(String(digits)))
    #expect(bytes.count == 141 && Self.page.contains("\"sha256\":\"\(Hex.text(sha256(bytes)))\""))
    let path = directory.file("shown.gz")
    try Data(bytes).write(to: URL(filePath: path))
    let shown = GzipLines(Glibc.open(path, O_RDONLY), path: path, on: .system)
    var found: [String] = []
    reading: while true {
      switch try shown.next() {
      case .line(let line): found.append(String(decoding: line, as: UTF8.self))
      case .memberEnd: break
      case .end: break reading
      }
    }
    #expect(found == lines)
  }
}
