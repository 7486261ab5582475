import Glibc
import Synchronization

@testable import EventLog

/// A disk in memory, for thousands of logs a second: what is written is there at once, and nothing ever fails.
final class MemoryDisk: Disk {
  private let files: Mutex<[String: MemoryFile]>

  init(_ contents: [String: [UInt8]] = [:]) {
    files = Mutex(Dictionary(uniqueKeysWithValues: contents.map { ($0.key, MemoryFile($0.key, $0.value)) }))
  }

  var paths: [String] { files.withLock { $0.keys.sorted() } }

  func open(_ path: String, _ mode: DiskOpenMode) throws(DiskError) -> any DiskFile {
    try files.withLock { (files) throws(DiskError) -> MemoryFile in
      if mode != .create, let file = files[path] { return file }
      guard mode == .create else { throw DiskError(.open, path, code: ENOENT) }
      let made = MemoryFile(path, [])
      files[path] = made
      return made
    }
  }

  func rename(_ path: String, to newPath: String) throws(DiskError) {
    try files.withLock { (files) throws(DiskError) in
      guard let file = files.removeValue(forKey: path) else { throw DiskError(.rename, path, code: ENOENT) }
      files[newPath] = file
    }
  }

  func unlink(_ path: String) throws(DiskError) {
    try files.withLock { (files) throws(DiskError) in
      guard files.removeValue(forKey: path) != nil else { throw DiskError(.unlink, path, code: ENOENT) }
    }
  }

  func syncDirectory(_ path: String) throws(DiskError) {}

  func list(_ path: String) throws(DiskError) -> [String] {
    files.withLock { files in
      files.keys.filter { $0.hasPrefix(path + "/") }.map { String($0.dropFirst(path.utf8.count + 1)) }
    }
  }

  func makeDirectory(_ path: String) throws(DiskError) {}
  func removeDirectory(_ path: String) throws(DiskError) {}
  func freeSpace(_ path: String) throws(DiskError) -> UInt64 { 1 << 40 }
}

/// A file of it, which lives on while it is open.
final class MemoryFile: DiskFile {
  let path: String
  private let content: Mutex<[UInt8]>

  init(_ path: String, _ bytes: [UInt8]) {
    self.path = path
    content = Mutex(bytes)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int {
    guard offset >= 0 else { throw DiskError(.read, path, code: EINVAL) }
    return content.withLock { content in
      let count = max(0, min(buffer.count, content.count - offset))
      if count > 0 { buffer.copyBytes(from: content[offset..<offset + count]) }
      return count
    }
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError) {
    guard offset >= 0 else { throw DiskError(.write, path, code: EINVAL) }
    content.withLock { content in
      if content.count < offset + bytes.count {
        content += [UInt8](repeating: 0, count: offset + bytes.count - content.count)
      }
      content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }
  }

  func syncData() throws(DiskError) {}

  func truncate(to size: Int) throws(DiskError) { resize(size) { $0 != size } }

  func allocate(_ size: Int) throws(DiskError) { resize(size) { $0 < size } }

  private func resize(_ size: Int, _ isWanted: (Int) -> Bool) {
    content.withLock { content in
      guard isWanted(content.count) else { return }
      if content.count > size {
        content.removeLast(content.count - size)
      } else {
        content += [UInt8](repeating: 0, count: size - content.count)
      }
    }
  }

  func size() throws(DiskError) -> Int { content.withLock { $0.count } }
}
