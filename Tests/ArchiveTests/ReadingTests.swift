import Clocks
import Foundation
import TestSupport
import Testing

@testable import Archive

@Suite struct ReadingTests {
  private let bench = ArchiveBench()

  private func lines(_ filter: LineFilter) throws -> [UInt64] {
    var out: [UInt64] = []
    try ArchiveReader(directory: bench.path).forEachLine(skippingFiles: filter.skips) { _, line in
      if filter.admits(line) { out.append(LineHead.sequence(of: line) ?? 0) }
      return true
    }
    return out
  }

  @Test func `Reading begins at any place, and ends when nobody wants more`() throws {
    let files = try bench.publish(files: 3, of: 10)
    let reader = try ArchiveReader(directory: bench.path)
    for (place, first) in [
      (ArchivePlace(file: files[1].name.lines, line: 4), 14 as UInt64),
      (ArchivePlace(file: files[1].name.lines, line: 11), 21), (ArchivePlace(file: "", line: 7), 1),
      (ArchivePlace(file: "20261130T112501", line: 7), 11),
    ] {
      var found: [UInt64] = []
      try reader.forEachLine(from: place) { place, line in
        #expect(place.line == (Int(LineHead.sequence(of: line) ?? 0) - 1) % 10 + 1)
        found.append(LineHead.sequence(of: line) ?? 0)
        return found.count < 5
      }
      #expect(found == Array(first..<first + 5))
    }
    var count = 0
    try reader.forEachLine(from: ArchivePlace(file: "3", line: 1)) { _, _ in
      count += 1
      return true
    }
    #expect(count == 0)
    #expect(try reader.extent().events == 30 && reader.extent { $0.file == 2 }.events == 20)
  }

  @Test func `Whole files are skipped by their times, and lines by theirs`() throws {
    try bench.publish(files: 3, of: 10)
    let begin = Timestamp(milliseconds: 1_796_037_887_123)
    let filter = LineFilter(since: begin + .seconds(60), until: begin + .seconds(120))
    #expect(try lines(filter) == Array(11...20))
    // What is skipped isn't looked at.
    bench.write(try #require(bench.names.first), [])
    #expect(try lines(filter) == Array(11...20))
    #expect(throws: ArchiveError.self) { try lines(LineFilter()) }
  }

  @Test func `Filters go by app, name, install and user, however they are written`() throws {
    try bench.open()
    try bench.append(1, event: #"{"name":"a\u0062c","anonymous_id":"x","user_id":null}"#)
    try bench.append(1, event: #"{"anonymous_id":"y","properties":{"name":"abc","user_id":"u"},"name":"other"}"#)
    try bench.append(1, event: #"{"name":"abc","anonymous_id":"x","user_id":"u\"1"}"#)
    try bench.publish()
    #expect(try lines(LineFilter(name: "abc")) == [1, 3])
    #expect(try lines(LineFilter(userID: "u")) == [])
    #expect(try lines(LineFilter(userID: "u\"1")) == [3])
    #expect(try lines(LineFilter(name: "abc", anonymousID: "x")) == [1, 3])
    #expect(try lines(LineFilter(anonymousID: "y")) == [2])
    #expect(try lines(LineFilter(app: "ios")) == [1, 2, 3])
    #expect(try lines(LineFilter(app: "web")) == [])
  }

  @Test func `A file that was damaged is named, after the lines before the damage`() throws {
    let files = try bench.publish(files: 3, of: 1000)
    bench.change(files[1].name.lines) { $0[$0.count / 2] ^= 0x40 }
    var found: [UInt64] = []
    let error = #expect(throws: ArchiveError.self) {
      try ArchiveReader(directory: bench.path).forEachLine { _, line in
        found.append(LineHead.sequence(of: line) ?? 0)
        return true
      }
    }
    #expect(found.count >= 1000 && found.count < 2000 && found == Array(1...UInt64(found.count)))
    #expect(error?.description.hasPrefix(bench.file(files[1].name.lines)) == true, "\(String(describing: error))")
  }

  @Test func `What is no archive says so`() throws {
    #expect(throws: ArchiveError.noDirectory(bench.path)) { try ArchiveReader(directory: bench.path) }
    #expect(throws: ArchiveError.noManifest(bench.directory.path, hasFiles: false)) {
      try ArchiveReader(directory: bench.directory.path)
    }
  }

  @Test func `A file that the retention removes meanwhile is passed over`() throws {
    let files = try bench.publish(files: 3, of: 10)
    var found: [UInt64] = []
    try ArchiveReader(directory: bench.path).forEachLine { place, line in
      found.append(LineHead.sequence(of: line) ?? 0)
      if found.count == 1 {
        _ = try? bench.writer.removeFiles(before: files[1].receivedUntil + .milliseconds(1), at: bench.now)
      }
      return true
    }
    #expect(found == Array(1...10) + Array(21...30))
    #expect(try bench.verify().isWhole)
  }

  @Test func `Names are read as they are written, and no others`() {
    let name = ArchiveFileName(time: Timestamp(milliseconds: 1_796_037_887_123), first: 1, last: 20)
    #expect(ArchiveFileName(published: name.lines) == name)
    #expect(ArchiveFileName.parse(name.open.salts)?.name == name.open)
    for text in [
      "", name.salts, name.open.lines, name.lines + "x", "x" + name.lines,
      name.lines.replacingOccurrences(of: "20261130", with: "20260231"),
      name.lines.replacingOccurrences(of: "-0", with: "-+"), name.lines.replacingOccurrences(of: "Z-", with: "z-"),
    ] { #expect(ArchiveFileName(published: text) == nil, "\(text)") }
  }
}
