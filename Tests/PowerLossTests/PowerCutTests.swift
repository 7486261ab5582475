import PowerLoss
import Testing

@Suite("A cut of power leaves")
struct PowerCutTests {
  private static let root = JournalBytes.root

  @Test("a file that was synced under a name that was, whole")
  func synced() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, "hello")
    journal.sync(2)
    journal.sync(Self.root)
    for image in try journal.outcomes() {
      #expect(image.paths == ["a"])
      #expect(image.text("a") == "hello")
    }
  }

  @Test("a name that wasn't synced, or not, though its file was")
  func unsyncedName() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, "hello")
    journal.sync(2)
    let found = Set(try journal.outcomes().map { $0.text("a") })
    #expect(found == ["hello", nil])
  }

  @Test("nothing, something or all of what wasn't synced, and each size that the file had")
  func unsyncedBytes() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, "ab")
    journal.sync(2)
    journal.sync(Self.root)
    journal.write(2, at: 2, "cd")
    let found = Set(try journal.outcomes().map { $0.text("a") ?? "" })
    #expect(found.isSuperset(of: ["ab", "abcd", "ab\0\0"]))
    #expect(found.allSatisfy { $0.hasPrefix("ab") && ($0.utf8.count == 2 || $0.utf8.count == 4) })
    // Torn between the two.
    #expect(found.contains("abc\0"))
  }

  @Test("each sector by itself, in any order")
  func sectors() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, at: 0, [UInt8](repeating: 1, count: 1024))
    journal.sync(2)
    journal.sync(Self.root)
    journal.write(2, at: 0, [UInt8](repeating: 2, count: 1024))
    let found = Set(try journal.outcomes(torn: 0).map { [$0["a"]?.first ?? 0, $0["a"]?.last ?? 0] })
    #expect(found == [[1, 1], [1, 2], [2, 1], [2, 2]])
  }

  @Test("what came in while a sync was under way, or not; and all before it once it has returned")
  func duringASync() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.sync(Self.root)
    journal.write(2, "one")
    let ticket = journal.beginSync(2)
    journal.write(2, at: 3, "two")
    let under = Set(try journal.outcomes(torn: 0).map { $0.text("a") ?? "-" })
    #expect(under.contains("") && under.contains("onetwo"))
    journal.endSync(2, ticket)
    let after = Set(try journal.outcomes(torn: 0).map { $0.text("a") ?? "-" })
    #expect(after == ["one", "onetwo", "one\0\0\0"])
  }

  @Test("the old file or the new one where one was renamed over it, and never neither")
  func renamed() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, "old")
    journal.sync(2)
    journal.sync(Self.root)
    journal.create("a.tmp", 3)
    journal.write(3, "new")
    journal.sync(3)
    journal.rename("a.tmp", to: "a", 3)
    for names in PowerCut.Names.allCases {
      let images = try journal.outcomes(names)
      #expect(Set(images.map { $0.text("a") }) == ["old", "new"])
      // A file has one name.
      #expect(images.allSatisfy { $0.text("a") != "new" || $0.text("a.tmp") == nil })
    }
    journal.sync(Self.root)
    #expect(try journal.outcomes().allSatisfy { $0.paths == ["a"] && $0.text("a") == "new" })
  }

  @Test("changes of names in their order, or, where the file system has none, any of them")
  func order() throws {
    var journal = JournalBytes()
    for (number, name) in ["a", "b", "c"].enumerated() {
      journal.create(name, UInt64(2 + number))
      journal.sync(UInt64(2 + number))
    }
    let inOrder = Set(try journal.outcomes(.inOrder).map(\.paths))
    #expect(inOrder == [[], ["a"], ["a", "b"], ["a", "b", "c"]])
    let any = Set(try journal.outcomes(.anySubset).map(\.paths))
    #expect(any.count == 8)
  }

  @Test("no file of a directory whose own name is lost")
  func directories() throws {
    var journal = JournalBytes()
    journal.makeDirectory("d", 2)
    journal.create("d/a", 3)
    journal.sync(3)
    journal.sync(2)
    let found = Set(try journal.outcomes().map(\.paths))
    #expect(found == [[], ["d", "d/a"]])
  }

  @Test("a removed file whole, until its directory is synced")
  func removed() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, "kept")
    journal.sync(2)
    journal.sync(Self.root)
    journal.unlink("a", 2)
    #expect(Set(try journal.outcomes().map { $0.text("a") }) == ["kept", nil])
    journal.sync(Self.root)
    // Its inode is another file's now.
    journal.create("b", 2)
    journal.write(2, "other")
    #expect(try journal.outcomes().allSatisfy { $0["a"] == nil })
  }

  @Test("a file that was cut short at its old length or its new one")
  func cutShort() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, "hello")
    journal.sync(2)
    journal.sync(Self.root)
    journal.truncate(2, to: 2)
    let found = Set(try journal.outcomes(torn: 0).map { $0.text("a") ?? "" })
    #expect(found.isSuperset(of: ["hello", "he"]) && found.allSatisfy { $0.hasPrefix("he") })
  }

  @Test("garbage only where something was being written, unless whole sectors may go")
  func garbage() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, "safe")
    journal.sync(2)
    journal.sync(Self.root)
    journal.write(2, at: 4, "unsafe")
    let kept = try journal.outcomes(garbage: 100).map { $0.text("a") ?? "" }
    #expect(kept.allSatisfy { $0.hasPrefix("safe") } && Set(kept).count > 10)
    let lost = try journal.outcomes(garbage: 100, wholeSectors: true).map { $0["a"] ?? [] }
    #expect(lost.contains { !$0.starts(with: Array("safe".utf8)) })
  }

  @Test("the same for the same seed")
  func repeatable() throws {
    var journal = JournalBytes()
    journal.create("a", 2)
    journal.write(2, at: 0, [UInt8](repeating: 3, count: 5000))
    let (one, other) = (try journal.outcomes(garbage: 20), try journal.outcomes(garbage: 20))
    #expect(one.map { $0["a"] } == other.map { $0["a"] })
    #expect(one.map(\.paths) == other.map(\.paths))
  }
}
