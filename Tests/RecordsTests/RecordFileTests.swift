import Foundation
import JSON
import Records
import Synchronization
import TestSupport
import Testing

@Suite("A record file")
struct RecordFileTests {
  private let directory = TemporaryDirectory()

  private func text(_ path: String) -> String? { readFile(path).map { String(decoding: $0, as: UTF8.self) } }

  private func append(_ text: String, to file: RecordFile) throws {
    try Array(text.utf8).withUnsafeBytes { try file.append($0) }
  }

  /// A file with one synced line, and what was appended to it after that.
  private func crashed(_ path: String, after: String) throws -> FileMark {
    let (file, _) = try RecordFile.create(path)
    try append("{\"received_at\":\"1\"}\n", to: file)
    try file.sync()
    try append(after, to: file)
    return file.mark
  }

  private func permissions(_ path: String) -> UInt32 {
    var status = stat()
    return stat(path, &status) == 0 ? UInt32(status.st_mode) & 0o777 : 0
  }

  @Test("makes its directories; nobody else may read either")
  func create() throws {
    let path = directory.file("a/b/c.ndjson")
    let (file, number) = try RecordFile.create(path)
    #expect(number == 0)
    #expect(file.mark.length == 0)
    #expect(permissions(path) == 0o600)
    #expect(permissions(directory.file("a/b")) == 0o700)
    #expect(permissions(directory.file("a")) == 0o700)
  }

  @Test("holds what was appended in pieces of any size, and after a cut into what is written early")
  func pieces() throws {
    let path = directory.file("a.ndjson")
    let (file, _) = try RecordFile.create(path)
    var expected = ""
    for piece in 1...60 {
      let line = String(repeating: "x", count: piece * 997 % 50_000 + EarlyWriteback.pieceBytes / 3) + "\n"
      try append(line, to: file)
      if piece % 20 == 0 {
        try file.cutToMark()
      } else {
        expected += line
        if piece % 7 == 0 || piece % 20 == 19 { try file.sync() }
      }
    }
    try file.sync()
    #expect(text(path) == expected)
  }

  @Test("takes the next name when one is taken, and an empty one that nobody holds")
  func names() throws {
    let path = directory.write("a.ndjson", "somebody's")
    _ = directory.write("a.1.ndjson", "")
    let (first, number) = try RecordFile.create(path)
    #expect(number == 1)
    let (_, next) = try RecordFile.create(path, from: number)
    #expect(next == 2)
    #expect(first.path == directory.file("a.1.ndjson"))
    #expect(text(path) == "somebody's")
  }

  @Test(
    "is numbered before its extension",
    arguments: [
      ("a/b.ndjson", "a/b.1.ndjson"), ("b.x.ndjson.gz", "b.x.1.ndjson.gz"), ("a.d/b", "a.d/b.1"), ("a/.b", "a/.b.1"),
      ("a/b.gz", "a/b.1.gz"), ("/.gz", "/.gz.1"), ("ü.ndjson", "ü.1.ndjson"),
    ])
  func numbered(path: String, expected: String) {
    #expect(RecordFile.numbered(path, 1) == expected)
    #expect(RecordFile.numbered(path, 0) == path)
  }

  @Test("is cut back to its mark and continued")
  func reopen() throws {
    let path = directory.file("a.ndjson")
    let mark = try crashed(path, after: "half a l")
    guard case .continued(let file, let cut) = try RecordFile.reopen(mark) else {
      Issue.record("not continued")
      return
    }
    #expect(cut == 8)
    try append("2\n", to: file)
    try file.sync()
    #expect(text(path) == "{\"received_at\":\"1\"}\n2\n")
    #expect(file.mark.length == 22)
  }

  @Test("keeps its mark through JSON")
  func marks() throws {
    let mark = try crashed(directory.file("a.ndjson"), after: "")
    #expect(FileMark(try JSONValue(parsing: mark.json.description)) == mark)
    #expect(FileMark(["path": "x"]) == nil)
    #expect(FileMark(.null) == nil)
  }

  @Test("is found by another name, and cut back there")
  func renamedMeanwhile() throws {
    let path = directory.file("a.ndjson")
    let mark = try crashed(path, after: "half")
    rename(path, directory.file("b"))
    guard case .renamed(let name, let cut) = try RecordFile.reopen(mark) else {
      Issue.record("not found")
      return
    }
    #expect(name == directory.file("b"))
    #expect(cut == 4)
    #expect(text(name) == "{\"received_at\":\"1\"}\n")
  }

  @Test("is found again when its device has another number after the machine's start, and cut back")
  func otherDevice() throws {
    let path = directory.file("a.ndjson")
    var mark = try crashed(path, after: "half")
    let device = mark.device
    mark.device += 1
    guard case .continued(let file, let cut) = try RecordFile.reopen(mark) else {
      Issue.record("not found")
      return
    }
    #expect(cut == 4)
    #expect(file.mark.device == device)
    #expect(text(path) == "{\"received_at\":\"1\"}\n")
  }

  @Test("is not taken for another that has its inode by now, empty mark or not, though that one is open and locked")
  func inodeUsedAgain() throws {
    let (live, _) = try RecordFile.create(directory.file("live.ndjson"))
    try append("{\"received_at\":\"1\"}\n", to: live)
    try live.sync()
    try #require(live.mark.born != 0, "this file system tells no birth times")
    for length in [0, live.mark.length] {
      var gone = live.mark
      gone.path = directory.file("gone.ndjson")
      gone.born -= 1
      if length == 0 { (gone.length, gone.tail) = (0, 0xcbf2_9ce4_8422_2325) }
      if case .missing = try RecordFile.reopen(gone) {} else { Issue.record("took another's file") }
      // A mark of an empty file from before births were noted proves nothing.
      gone.born = 0
      if length == 0 { if case .missing = try RecordFile.reopen(gone) {} else { Issue.record("took another's file") } }
    }
    #expect(text(directory.file("live.ndjson")) == "{\"received_at\":\"1\"}\n")
  }

  @Test("is left alone when it is another's, shorter or changed")
  func notOurs() throws {
    let path = directory.file("a.ndjson")
    let mark = try crashed(path, after: "")
    var other = mark
    other.inode += 1
    if case .missing = try RecordFile.reopen(other) {} else { Issue.record("took another's file") }

    truncate(path, 3)
    if case .changed = try RecordFile.reopen(mark) {} else { Issue.record("took a shortened file") }
    #expect(text(path) == "{\"r")

    let handle = try #require(FileHandle(forWritingAtPath: path))
    handle.write(Data("something else that is longer".utf8))
    if case .changed = try RecordFile.reopen(mark) {} else { Issue.record("took a changed file") }
    #expect(text(path) == "something else that is longer")

    unlink(path)
    if case .missing = try RecordFile.reopen(mark) {} else { Issue.record("found a removed file") }
  }

  @Test("that was marked empty is cut back only when it holds records")
  func emptyMark() throws {
    let path = directory.file("a.ndjson")
    let mark = try {
      let (file, _) = try RecordFile.create(path)
      try append("not a record", to: file)
      return file.mark
    }()
    if case .changed = try RecordFile.reopen(mark) {} else { Issue.record("cut what isn't ours") }
    #expect(text(path) == "not a record")
    try Data(#"{"received_at":"2"#.utf8).write(to: URL(fileURLWithPath: path), options: [])
    if case .continued(_, let cut) = try RecordFile.reopen(mark) { #expect(cut > 0) }
    #expect(text(path) == "")
  }

  @Test(
    "that was marked empty is cut back when a cut of power left zeros or garbage where its first records were",
    arguments: [
      [UInt8](repeating: 0, count: 700), Array("{\"recei".utf8) + [UInt8](repeating: 0, count: 700),
      [0x9E, 0x11, 0xFF, 0x41, 0x20], [UInt8](repeating: 0, count: 512) + Array("\"event\":{}}\n".utf8),
    ])
  func emptyMarkAfterACut(left: [UInt8]) throws {
    let path = directory.file("a.ndjson")
    var mark = try RecordFile.create(path).file.mark
    try #require(mark.born != 0, "this file system tells no birth times")
    let handle = try #require(FileHandle(forWritingAtPath: path))
    handle.write(Data(left))
    // Without a birth it may be any file that has the inode now.
    let born = mark.born
    mark.born = 0
    if case .changed = try RecordFile.reopen(mark) {} else { Issue.record("cut what may be another's") }
    mark.born = born
    guard case .continued(let file, let cut) = try RecordFile.reopen(mark) else {
      Issue.record("left torn records in place")
      return
    }
    #expect(cut == left.count && file.length == 0 && text(path) == "")
  }

  @Test("belongs to one at a time")
  func lock() throws {
    let path = directory.file("a.ndjson")
    let (file, _) = try RecordFile.create(path)
    let error = #expect(throws: FileError.self) { try RecordFile.reopen(file.mark) }
    #expect(error?.operation == .lock)
    #expect(try RecordFile.create(path).number == 1)
  }

  @Test("tells what became of it")
  func look() throws {
    let path = directory.file("d/a.ndjson")
    let (file, _) = try RecordFile.create(path)
    try append("1\n", to: file)
    #expect(try file.look() == .unchanged)
    let handle = try #require(FileHandle(forWritingAtPath: path))
    handle.seekToEndOfFile()
    handle.write(Data("theirs\n".utf8))
    #expect(try file.look() == .lengthened)
    truncate(path, 0)
    #expect(try file.look() == .shortened)
    truncate(path, 2)
    rename(directory.file("d"), directory.file("e"))
    #expect(try file.look() == .renamed)
    mkdir(directory.file("d"), 0o700)
    _ = directory.write("d/a.ndjson", "1\n")
    #expect(try file.look() == .renamed)
    unlink(directory.file("e/a.ndjson"))
    #expect(try file.look() == .deleted)
  }

  @Test("trusts nothing after a failed sync but what its mark says")
  func failedSync() throws {
    let failing = Atomic<Bool>(false)
    let system = FileSystem { operation, _ in operation == .sync && failing.load(ordering: .relaxed) ? EIO : 0 }
    let path = directory.file("a.ndjson")
    let (file, _) = try RecordFile.create(path, on: system)
    try append("1\n", to: file)
    try file.sync()
    try append("2\n", to: file)
    failing.store(true, ordering: .relaxed)
    #expect(throws: FileError.self) { try file.sync() }
    failing.store(false, ordering: .relaxed)
    #expect(throws: FileError.self) { try file.sync() }
    #expect(throws: FileError.self) { try append("3\n", to: file) }
    try file.cutToMark()
    #expect(text(path) == "1\n")
  }

  @Test("says what failed, where, why and what to do")
  func errors() throws {
    _ = directory.write("a", "a file")
    let error = try #require(throws: FileError.self) { try RecordFile.create(directory.file("a/b/c")) }
    #expect(error.code == ENOTDIR)
    #expect(error.description.contains(directory.file("a/b")))
    #expect(error.description.contains("Not a directory"))
    #expect(error.description.contains("move that file away"))
    #expect(!error.isOutOfSpace)
    #expect(FileError(.write, "/x", code: ENOSPC).isOutOfSpace)
  }
}
