import DeadLetters
import EventLog
import JSON
import Records
import TestSupport
import Testing

@testable import DeadLetters

@Suite("Dead letters that go")
struct DroppingTests {
  private let fixture: Fixture

  init() throws { fixture = try Fixture() }

  private var reader: DeadLetterReader { DeadLetterReader(directory: fixture.letters.directory) }
  private var committed: [String: FileMark] {
    fixture.sink.attachment?["dead_letters"].flatMap { FileMark($0) }.map { ["raw": $0] } ?? [:]
  }

  private func numbers(all: Bool = false) throws -> [UInt64] {
    var numbers: [UInt64] = []
    try reader.forEach(DeadLetterFilter(includesReplayed: all)) { letter, _ in
      numbers.append(letter.sequence)
      return true
    }
    return numbers
  }

  private func bytes() throws -> String {
    try reader.files().map { String(decoding: readFile("\(reader.directory)/\($0)") ?? [], as: UTF8.self) }.joined()
  }

  @Test("that a crash kept from going are counted as there, however often it is started after")
  func interrupted() throws {
    try fixture.bury(1..<4)
    let file = try #require(try reader.files().first)
    let directory = fixture.letters.directory
    let copy = "\(directory)/\(file)\(DeadLetterDrop.temporaryEnding)"
    try FileSystem.system.replace(copy, with: Array("half\n".utf8))
    var noted = RemovedLetters()
    noted.intent = RemovedLetters.Intent(
      witness: file + DeadLetterDrop.temporaryEnding, destination: "raw", reason: .dropped, letters: 2)
    try noted.write(directory, .system)
    for _ in 0..<2 {
      try fixture.reopen()
      #expect(fixture.letters.removedLetters == [:])
      #expect(DeadLetterRemovals.counts(directory) == [:])
    }
    #expect(readFile(copy) == nil)
    #expect(try numbers() == [1, 2, 3])
  }

  @Test("leave the others where they were, with their lines' numbers, and no byte of their own")
  func rewritten() throws {
    try fixture.bury(1..<6)
    try fixture.bury(6..<9, app: "web")
    try fixture.bury(9..<11)
    let file = try #require(try reader.files().first)
    var lines = LineSet()
    lines.insert(2)
    lines.insert(7)
    try fixture.letters.markReplayed(lines, of: file)
    #expect(try numbers() == [1, 3, 4, 5, 6, 8, 9, 10])

    let outcome = try fixture.letters.drop(DeadLetterFilter(app: "web"), committed: committed)
    #expect(outcome == DeadLetterDrop.Outcome(dropped: 3, left: 0))
    #expect(try numbers() == [1, 3, 4, 5, 9, 10])
    #expect(try numbers(all: true) == [1, 2, 3, 4, 5, 9, 10])
    #expect(try !bytes().contains(#""app":"web""#))
    #expect(try reader.show(.place(file: file, line: 9))?.letter.sequence == 9)
    // Of the three, one had been put back already.
    #expect(fixture.letters.removedLetters == ["raw": [.dropped: 2]])

    // The next letter goes to a file of its own, and what was on record is not cut.
    try fixture.bury(11..<12)
    #expect(try reader.files().count == 2)
    try fixture.reopen()
    try fixture.letters.recover("raw", mark: committed["raw"])
    #expect(try numbers() == [1, 3, 4, 5, 9, 10, 11])
    #expect(fixture.letters.removedLetters == ["raw": [.dropped: 2]])
  }

  @Test("take the file along when nothing else is in it")
  func wholeFile() throws {
    try fixture.bury(1..<6)
    let file = try #require(try reader.files().first)
    var lines = LineSet()
    lines.insert(1...2)
    try fixture.letters.markReplayed(lines, of: file)
    #expect(try fixture.letters.drop(DeadLetterFilter(), committed: committed).dropped == 5)
    #expect(try reader.files().isEmpty)
    #expect(readFile("\(reader.directory)/\(file).replayed") == nil)
    #expect(fixture.letters.removedLetters == ["raw": [.dropped: 3]])
  }

  @Test("stay while they are on their way to the disk, or not on record yet")
  func busy() throws {
    try fixture.bury(1..<4)
    let before = committed
    try fixture.bury(4..<6)
    #expect(try fixture.letters.drop(DeadLetterFilter(), committed: before) == .init(dropped: 0, left: 5))
    _ = try fixture.letters.prepare("raw")
    #expect(try fixture.letters.drop(DeadLetterFilter(), committed: committed) == .init(dropped: 0, left: 5))
    #expect(try numbers() == [1, 2, 3, 4, 5])
  }

  @Test("are counted once, whenever a crash comes", arguments: [false, true])
  func counted(isDone: Bool) throws {
    try fixture.bury(1..<6)
    let file = try #require(try reader.files().first)
    var removed = RemovedLetters()
    removed.counts = ["raw": [.age: 7]]
    removed.intent = RemovedLetters.Intent(witness: file, destination: "raw", reason: .size, letters: 5)
    try removed.write(reader.directory, .system)
    if isDone { try FileSystem.system.remove("\(reader.directory)/\(file)") }
    try fixture.reopen()
    #expect(fixture.letters.removedLetters == ["raw": isDone ? [.age: 7, .size: 5] : [.age: 7]])
  }

  @Test("a note of what was put back that can't be read stops the letters from being put back once more")
  func damagedNote() throws {
    try fixture.bury(1..<3)
    let file = try #require(try reader.files().first)
    _ = fixture.directory.write("dead-letters/\(file).replayed", "{}")
    #expect(throws: FileError.self) { try numbers() }
  }

  @Test("line numbers are a set of ranges")
  func lineSets() throws {
    var set = LineSet()
    for line in [5, 1, 3, 2, 9, 4] { set.insert(line) }
    #expect(set.ranges == [1...5, 9...9])
    #expect(set.contains(4) && !set.contains(6) && set.contains(9) && !set.contains(10))
    set.insert(4...8)
    #expect(set.ranges == [1...9] && set.count == 9)
    #expect(LineSet(set.json) == set)
    #expect(LineSet([[3, 1]]) == nil)
  }
}
