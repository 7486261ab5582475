import PowerLoss
import Testing

@Suite("A journal")
struct JournalTests {
  @Test("is read up to its last whole record, wherever it ends")
  func endsAnywhere() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    let first = journal.bytes.count
    journal.write(2, "hello")
    for length in 0...journal.bytes.count {
      let read = try Journal(Array(journal.bytes[..<length]))
      #expect(read.records.count == (length < first ? 0 : length < journal.bytes.count ? 1 : 2))
    }
    let whole = try Journal(journal.bytes)
    #expect(whole.records[0] == .created(FileIdentity(inode: 2, born: 20), path: "a"))
    #expect(whole.ends == [first, journal.bytes.count])
    #expect(whole.count(atLength: first - 1) == 0 && whole.count(atLength: first) == 1)
    #expect(whole.count(atLength: journal.bytes.count + 9) == 2)
  }

  @Test("with anything else in it is refused, by place")
  func foreign() {
    let fault = #expect(throws: JournalFault.self) { try Journal([UInt8](repeating: 7, count: 100)) }
    #expect(fault?.description == "the journal, at byte 0: no record begins here")
  }

  @Test("that tells of what can't be told is refused, with what it is")
  func unsupported() throws {
    var journal = JournalBytes()
    journal.add(13, path: "mmap for writing")
    let fault = #expect(throws: JournalFault.self) { try journal.history() }
    #expect(fault?.description.contains("mmap for writing") == true)
  }

  @Test("makes of an empty directory what the program saw")
  func whole() throws {
    var journal = JournalBytes()
    journal.makeDirectory("d", 2)
    journal.create("d/a", 3)
    journal.write(3, "hello")
    journal.write(3, at: 1, "u")
    journal.truncate(3, to: 4)
    journal.rename("d/a", to: "b", 3)
    let image = try journal.history().whole
    #expect(image.paths == ["b", "d"])
    #expect(image.text("b") == "hull")
  }
}
