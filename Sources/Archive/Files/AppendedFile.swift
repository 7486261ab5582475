import Glibc
import Records

/// A file that is only ever appended to, and cut back to what is synced when something fails.
///
/// Not thread-safe. Closed with its last use. Blocks in file calls.
final class AppendedFile {
  /// For messages; the file may have been renamed since.
  let path: String
  /// Bytes, synced or not.
  private(set) var length: Int
  /// Bytes that are on stable storage.
  private(set) var syncedLength: Int
  /// A sync failed: what was appended since the last one can't be trusted until the file is cut back.
  private(set) var isFailed = false

  let descriptor: Int32
  private let system: FileSystem
  private var writeback: EarlyWriteback

  /// Takes over a descriptor that is open for reading and appending, of a file whose bytes are all synced.
  init(_ descriptor: Int32, path: String, length: Int, on system: FileSystem) {
    self.descriptor = descriptor
    self.path = path
    self.length = length
    self.system = system
    syncedLength = length
    writeback = EarlyWriteback(from: length)
  }

  deinit { close(descriptor) }

  /// Appends bytes. When it throws, ``cutBack()`` before anything else is appended.
  func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    guard !isFailed else { throw FileError(.write, path, code: EIO) }
    var rest = bytes
    while !rest.isEmpty {
      let written = try system.write(rest, to: descriptor, path)
      length += written
      rest = UnsafeRawBufferPointer(rebasing: rest[written...])
    }
    writeback.grew(to: length, descriptor: descriptor)
  }

  func append(_ bytes: [UInt8]) throws(FileError) {
    let result = bytes.withUnsafeBytes { bytes in Result { () throws(FileError) in try append(bytes) } }
    try result.get()
  }

  /// Makes what was appended durable. When it throws, the kernel may have dropped what it couldn't write.
  func sync() throws(FileError) {
    guard !isFailed else { throw FileError(.sync, path, code: EIO) }
    guard length > syncedLength else { return }
    do throws(FileError) {
      try system.call(.sync, path) { fdatasync(descriptor) }
    } catch {
      isFailed = true
      throw error
    }
    syncedLength = length
  }

  /// Cuts off what isn't synced, durably; then the file is as good as before.
  func cutBack() throws(FileError) {
    try system.call(.cut, path) { ftruncate(descriptor, off_t(syncedLength)) }
    try system.call(.sync, path) { fdatasync(descriptor) }
    length = syncedLength
    isFailed = false
  }

  /// Cuts the file to a length, durably.
  func cut(to length: Int) throws(FileError) {
    syncedLength = length
    try cutBack()
  }

  func facts() throws(FileError) -> FileFacts { try system.facts(of: descriptor, path: path) }

  /// Keeps every other process from writing it, or fails at once.
  func lock() throws(FileError) {
    try system.call(.lock, path) { flock(descriptor, LOCK_EX | LOCK_NB) }
  }
}
