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
