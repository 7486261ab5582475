import Foundation
import TestSupport
import Testing

@testable import Relay

@Suite("Files that are watched")
struct WatchedFilesTests {
  private let directory = TemporaryDirectory()

  @Test("differ when one is written, replaced, removed, or another one is watched; else not")
  func changes() {
    let watch = FileWatch()
    let file = directory.write("key", "one")
    func isDifferent(_ paths: String...) -> Bool { watch.isDifferent(.look(at: paths)) }
    // Nobody knows what was before.
    #expect(isDifferent(file))
    #expect(!isDifferent(file))
    _ = directory.write("key", "other")
    #expect(isDifferent(file))
    #expect(!isDifferent(file))
    let next = directory.write("next", "third")
    rename(next, file)
    #expect(isDifferent(file))
    unlink(file)
    #expect(isDifferent(file))
    #expect(!isDifferent(file))
    #expect(isDifferent(file, "/etc/passwd"))
    #expect(!isDifferent(file, "/etc/passwd"))
  }

  @Test("differ when a symbolic link above them is turned, as a mounted secret's is")
  func links() throws {
    let files = FileManager.default
    for version in ["..1", "..2"] {
      try files.createDirectory(atPath: directory.file(version), withIntermediateDirectories: true)
      _ = directory.write("\(version)/key", "same bytes")
    }
    let (link, path) = (directory.file("..data"), directory.file("key"))
    symlink("..1", link)
    symlink("..data/key", path)
    let watch = FileWatch()
    _ = watch.isDifferent(.look(at: [path]))
    #expect(!watch.isDifferent(.look(at: [path])))
    symlink("..2", directory.file("..tmp"))
    rename(directory.file("..tmp"), link)
    #expect(watch.isDifferent(.look(at: [path])))
  }
}

@Suite("A sink's place")
struct SinkPlaceTests {
  private let directory = TemporaryDirectory()

  @Test("is looked at before anything is changed for it, and nothing is made")
  func place() {
    let root = directory.path
    #expect(SinkPlace.fault("\(root)/a/b/%Y/%m.ndjson") == nil)
    #expect(SinkPlace.fault("\(root)/archive/") == nil)
    #expect(SinkPlace.fault("\(root)/all.ndjson") == nil)
    #expect(!FileManager.default.fileExists(atPath: directory.file("a")))
    let file = directory.write("file", "")
    #expect(SinkPlace.fault("\(file)/%Y.ndjson") == "\(file) is no directory; name another path")
    #expect(SinkPlace.fault("\(file)/a/b/%Y.ndjson")?.contains("\(file)/a/b can't be used") == true)
    #expect(SinkPlace.fault("\(file)/")?.contains("is no directory") == true)
    #expect(SinkPlace.fixedDirectory(of: "/a/b/c%Y/d.ndjson") == "/a/b")
    #expect(SinkPlace.fixedDirectory(of: "/%Y.ndjson") == "/")
  }
}
