import Clocks
import Dialects
import Glibc
import Observability
import TestSupport
import Testing

@testable import StandIn

@Suite("What the stand-in keeps")
struct KeepingTests {
  @Test("of ids is at most what it may remember, and at least the latest half")
  func generations() {
    var set = GenerationalSet<Int>(max: 100)
    for number in 0..<1000 {
      #expect(!set.contains(number))
      set.insert(number)
      #expect(set.count <= 100)
      for recent in max(0, number - 49)...number { #expect(set.contains(recent)) }
    }
  }

  @Test("of a month's events ends with the month")
  func quota() {
    var quota = MonthlyQuota(limit: 100)
    let october = Timestamp(milliseconds: Timestamp.days(year: 2026, month: 10, day: 31) * 86_400_000)
    #expect(quota.allows(110, at: october))
    #expect(!quota.allows(111, at: october))
    quota.count(105, at: october)
    #expect(quota.allows(5, at: october) && !quota.allows(6, at: october) && quota.allows(0, at: october))
    let november = october + .seconds(86_400)
    #expect(quota.allows(110, at: november))
    quota.recount(1, storedAt: october, now: november)
    #expect(quota.allows(110, at: november))
    quota.recount(1, storedAt: november, now: november)
    #expect(quota.used == 1)
    let endless = MonthlyQuota(limit: nil)
    #expect(endless.allows(1_000_000, at: october))
  }

  @Test("is written as one line a record, and read again", arguments: [true, false])
  func records(isClamped: Bool) throws {
    var line: [UInt8] = []
    let text = "{\n\"a\":\r\n\"}\\\"\"}"
    Array(text.utf8).withUnsafeBytes { event in
      JournalRecord.write(
        sequence: 42, receivedAt: Timestamp(milliseconds: 1_792_757_071_512), app: "key-0123abcd", kind: .identify,
        dialect: DialectRegistry.usual, isClamped: isClamped, hasLineBreaks: true, event: event, to: &line)
    }
    #expect(line.last == UInt8(ascii: "\n") && line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
    line.removeLast()
    let record = try #require(line.withUnsafeBytes { JournalRecord(line: $0) })
    #expect(record.sequence == 42 && record.app == "key-0123abcd" && record.kind == .identify)
    #expect(record.receivedAt.milliseconds == 1_792_757_071_512)
    #expect(String(decoding: line[record.event], as: UTF8.self) == "{ \"a\":  \"}\\\"\"}")
    for other in ["", "{}", "{\"seq\":x", String(decoding: line.dropLast(30), as: UTF8.self)] {
      #expect(Array(other.utf8).withUnsafeBytes { JournalRecord(line: $0) } == nil)
    }
  }

  @Test("in memory is the latest, page by page")
  func memory() throws {
    let journal = MemoryJournal(bytesMax: 1000)
    for number in 0..<500 { journal.append(Array("\(number)\n".utf8), count: 1) }
    #expect(journal.next == 500 && journal.first > 200)
    try walk(journal)
    #expect(journal.page(from: 9999, limit: 5, bytesMax: 1000) == JournalPage(next: 500))
    #expect(MemoryJournal(bytesMax: 10).page(from: 0, limit: 5, bytesMax: 1000) == JournalPage(next: 0))
  }

  private func walk(_ journal: any Journal) throws {
    for limit in [1, 7, 1000] {
      var next: UInt64 = 0
      var expected = journal.first
      while true {
        let page = try journal.page(from: next, limit: limit, bytesMax: 100)
        guard page.count > 0 else { break }
        #expect(page.count <= limit && page.lines.count <= 104)
        for line in page.lines.split(separator: UInt8(ascii: "\n")) {
          #expect(String(decoding: line, as: UTF8.self) == "\(expected)")
          expected += 1
        }
        next = page.next
      }
      #expect(expected == journal.next)
    }
  }

  @Test("in a file is all of it, after a restart too, without a torn last line")
  func file() throws {
    let directory = TemporaryDirectory()
    let path = directory.file("a/b")
    do {
      let journal = try FileJournal(directory: path, bytesMax: 1 << 20)
      try journal.load(logger: .silent) { _ in }
      for number in 0..<300 { try journal.append(Array("\(number * 2)\n\(number * 2 + 1)\n".utf8), count: 2) }
      try walk(journal)
      let error = #expect(throws: StandInError.self) { try FileJournal(directory: path, bytesMax: 1 << 20) }
      #expect(error?.description.contains("another process") == true)
    }
    let descriptor = open("\(path)/events.ndjson", O_WRONLY | O_APPEND)
    #expect(write(descriptor, "torn", 4) == 4)
    close(descriptor)
    let journal = try FileJournal(directory: path, bytesMax: 2300)
    var seen = 0
    try journal.load(logger: .silent) { line in
      #expect(String(decoding: line, as: UTF8.self) == "\(seen)")
      seen += 1
    }
    #expect(seen == 600 && journal.next == 600)
    try walk(journal)
    try journal.append(Array("600\n".utf8), count: 1)
    try walk(journal)
    #expect(throws: StandInError.self) { try journal.append([UInt8](repeating: 10, count: 100), count: 1) }
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    #expect(stat("\(path)/events.ndjson", &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test("is refused with a reason where there can be no directory")
  func noDirectory() {
    let directory = TemporaryDirectory()
    let file = directory.write("file", "x")
    let error = #expect(throws: StandInError.self) { try FileJournal(directory: "\(file)/sub", bytesMax: 1) }
    #expect(error?.description.contains("\(file)") == true)
  }
}

@Suite("An ordered failure")
struct ForcedFailureTests {
  @Test("is read from its text")
  func text() {
    #expect(ForcedFailure("503") == ForcedFailure(status: 503))
    #expect(ForcedFailure("429:3") == ForcedFailure(status: 429, count: 3))
    for text in ["", "200", "600", "x", "503:", "503:0", "503:-1", "503:1:1", ":1"] {
      #expect(ForcedFailure(text) == nil, "\(text)")
    }
  }

  @Test("ends after its count")
  func count() {
    var failure = ForcedFailure(status: 500, count: 2)
    let failed = (0..<3).map { _ in failure.takes() }
    #expect(failed == [true, true, false])
    var endless = ForcedFailure(status: 500)
    let failedOn = (0..<3).map { _ in endless.takes() }
    #expect(failedOn == [true, true, true])
  }
}
