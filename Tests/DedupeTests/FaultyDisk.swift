import EventLog
import Glibc
import Synchronization

/// The real disk, whose writes and syncs fail when the test says so; a write that fails leaves a part of it behind.
final class FaultyDisk: Disk, Sendable {
  private let real = RealDisk()
  /// Writes and syncs that still succeed; nil: all do.
  private let left = Mutex<Int?>(nil)

  func fail(after count: Int?) { left.withLock { $0 = count } }

  fileprivate var isFailing: Bool {
    left.withLock { left in
      guard let count = left else { return false }
      left = max(0, count - 1)
      return count == 0
    }
  }

  func open(_ path: String, _ mode: DiskOpenMode) throws(DiskError) -> any DiskFile {
    File(try real.open(path, mode), self)
  }
  func rename(_ path: String, to newPath: String) throws(DiskError) { try real.rename(path, to: newPath) }
  func unlink(_ path: String) throws(DiskError) { try real.unlink(path) }
  func syncDirectory(_ path: String) throws(DiskError) { try real.syncDirectory(path) }
  func list(_ path: String) throws(DiskError) -> [String] { try real.list(path) }
  func makeDirectory(_ path: String) throws(DiskError) { try real.makeDirectory(path) }
  func removeDirectory(_ path: String) throws(DiskError) { try real.removeDirectory(path) }
  func freeSpace(_ path: String) throws(DiskError) -> UInt64 { try real.freeSpace(path) }

  private final class File: DiskFile, Sendable {
    let real: any DiskFile
    let disk: FaultyDisk

    init(_ real: any DiskFile, _ disk: FaultyDisk) {
      self.real = real
      self.disk = disk
    }

    var path: String { real.path }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int {
      try real.read(into: buffer, at: offset)
    }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError) {
      guard disk.isFailing else { return try real.write(bytes, at: offset) }
      try real.write(UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count * 2 / 3)]), at: offset)
      throw DiskError(.write, path, code: ENOSPC)
    }
    func syncData() throws(DiskError) {
      guard disk.isFailing else { return try real.syncData() }
      throw DiskError(.sync, path, code: EIO)
    }
    func truncate(to size: Int) throws(DiskError) { try real.truncate(to: size) }
    func allocate(_ size: Int) throws(DiskError) { try real.allocate(size) }
    func size() throws(DiskError) -> Int { try real.size() }
  }
}
