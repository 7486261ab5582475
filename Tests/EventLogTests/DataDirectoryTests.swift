import EventLog
import Foundation
import JSON
import TestSupport
import Testing

@Suite("The data directory")
struct DataDirectoryTests {
  let directory = TemporaryDirectory()
  var path: String { directory.file("a/b/data") }

  private func failure(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch { return "\(error)" }
  }

  @Test("is made with those above it, for its owner alone, and names its relay once")
  func made() throws {
    let first = try DataDirectory.open(path)
    #expect(first.instanceID.count == 12 && first.instanceID.allSatisfy(\.isHexDigit))
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o700)
    #expect(try FileManager.default.attributesOfItem(atPath: path + "/instance")[.posixPermissions] as? Int == 0o600)
    first.close()
    #expect(try DataDirectory.open(path).instanceID == first.instanceID)
  }

  @Test("is used by one relay at a time, and says which directory and what to do")
  func lock() throws {
    let first = try DataDirectory.open(path)
    let text = failure { _ = try DataDirectory.open(path) }
    #expect(text.contains("another event-relay") && text.contains(path) && text.contains("stop it"))
    first.close()
    _ = try DataDirectory.open(path)
  }

  @Test("is locked against another process, and free again when that ends")
  func otherProcess() throws {
    try DataDirectory.open(path).close()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/flock")
    process.arguments = [path + "/lock", "/bin/sh", "-c", "echo ready; read line"]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    #expect(output.fileHandleForReading.availableData == Data("ready\n".utf8))
    #expect(failure { _ = try DataDirectory.open(path) }.contains("another event-relay"))
    input.fileHandleForWriting.closeFile()
    process.waitUntilExit()
    _ = try DataDirectory.open(path)
  }

  @Test("refuses a file, a newer format and an unreadable id, each in plain words")
  func refusals() throws {
    let file = directory.write("file", "x")
    #expect(failure { _ = try DataDirectory.open(file) }.contains("name a directory"))
    #expect(failure { _ = try DataDirectory.open(file + "/data") }.contains("name a directory"))
    try DataDirectory.open(path).close()
    for (content, parts) in [
      (#"{"format":"event-relay-instance","version":7,"id":"abc"}"#, ["version 7", "up to 1"]),
      (#"{"format":"event-relay-instance","version":1,"id":"../x"}"#, ["no usable id", "/instance"]),
      ("garbage", ["can't be read as the instance's id", "/instance"]),
    ] {
      _ = directory.write("a/b/data/instance", content)
      let text = failure { _ = try DataDirectory.open(path) }
      for part in parts { #expect(text.contains(part)) }
    }
  }

  @Test("frees the lock when it could not be opened for another reason")
  func lockAfterFailure() throws {
    try DataDirectory.open(path).close()
    _ = directory.write("a/b/data/instance", "garbage")
    #expect(throws: LogError.self) { try DataDirectory.open(path) }
    #expect(throws: LogError.self) { try DataDirectory.open(path) }
    unlink(path + "/instance")
    _ = try DataDirectory.open(path)
  }
}

@Suite("Free space")
struct FreeSpaceTests {
  @Test("is low below the minimum alone, and asked for once a second at most")
  func low() {
    let disk = SimulatedDisk()
    disk.setFree(100)
    let space = FreeSpace(path: "/", minimum: 101, disk: disk)
    #expect(space.isLow && space.availableBytes == 100)
    disk.setFree(101)
    #expect(space.isLow)
    space.refresh()
    #expect(!space.isLow)
    #expect(!FreeSpace(path: "/", minimum: 0, disk: disk).isLow)
    #expect(FreeSpace(path: "/nowhere/at/all", minimum: 1).isLow == false)
  }
}

@Suite("A disk error")
struct DiskErrorTests {
  @Test("says what, which path, why and what to do")
  func text() {
    #expect(
      DiskError(.write, "/d/f", code: ENOSPC).description
        == "can't write to /d/f: No space left on device: free some space on this file system; the relay goes on by itself"
    )
    for code in [EACCES, ENOENT, ENOTDIR, EROFS, EDQUOT, EFBIG, EIO, EMFILE, ENAMETOOLONG, ELOOP, EISDIR] {
      #expect(DiskError(.open, "/d/f", code: code).description.split(separator: ": ").count == 3)
    }
    #expect(DiskError(.open, "/d/f", code: EINVAL).description == "can't open /d/f: Invalid argument")
  }

  @Test("comes from the real disk with its path and number")
  func real() throws {
    let directory = TemporaryDirectory()
    let disk = RealDisk()
    func code(_ body: () throws -> Void) -> Int32? {
      do { try body() } catch let error as DiskError { return error.code } catch {}
      return nil
    }
    #expect(code { _ = try disk.open(directory.file("none"), .read) } == ENOENT)
    #expect(code { try disk.rename(directory.file("none"), to: directory.file("x")) } == ENOENT)
    #expect(code { try disk.unlink(directory.file("none")) } == ENOENT)
    #expect(code { _ = try disk.list(directory.file("none")) } == ENOENT)
    #expect(code { try disk.syncDirectory(directory.file("none")) } == ENOENT)
    #expect(code { _ = try disk.freeSpace(directory.file("none")) } == ENOENT)
    let file = try disk.open(directory.file("f"), .create)
    try file.allocate(1000)
    #expect(try file.size() == 1000)
    try [UInt8]("abc".utf8).withUnsafeBytes { try file.write($0, at: 998) }
    try file.truncate(to: 1000)
    try file.syncData()
    var bytes = [UInt8](repeating: 0, count: 10)
    #expect(try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 998) } == 2)
    #expect(try disk.list(directory.path) == ["f"])
    #expect(try disk.freeSpace(directory.path) > 0)
  }
}
