import Glibc
import Records

/// Reads a manifest's whole lines one after the other, with memory for one of them.
///
/// A manifest that grows meanwhile can be read on. Not thread-safe. Blocks in file calls.
final class ManifestLines {
  /// A longer line is none of ours.
  private static let lineBytesMax = 64 << 20

  let path: String
  let descriptor: Int32
  private let system: FileSystem
  private var buffer: UnsafeMutableRawBufferPointer
  /// Where in the buffer what isn't handed out begins, and ends.
  private var start = 0
  private var filled = 0
  /// Where in the file the buffer's first unread byte stands.
  private(set) var offset: Int

  /// - Parameter descriptor: closed by this.
  init(_ descriptor: Int32, path: String, from offset: Int = 0, on system: FileSystem) {
    self.descriptor = descriptor
    self.path = path
    self.system = system
    self.offset = offset
    buffer = .allocate(byteCount: 64 * 1024, alignment: 16)
  }

  deinit {
    buffer.deallocate()
    close(descriptor)
  }

  /// Bytes behind the last line feed, once ``next()`` has returned nil: a line that isn't whole.
  var tornBytes: Int { filled - start }

  /// Whether somebody has the manifest open for writing now, so that a line that isn't whole may be on its way.
  var isBeingWritten: Bool {
    guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else {
      flock(descriptor, LOCK_UN)
      return false
    }
    return errno == EWOULDBLOCK
  }

  /// The next line without its line feed, good until the next call; nil when there is no whole one.
  func next() throws(FileError) -> UnsafeRawBufferPointer? {
    var searched = start
    while true {
      if searched < filled,
        let found = memchr(buffer.baseAddress! + searched, Int32(UInt8(ascii: "\n")), filled - searched)
      {
        let end = UnsafeRawPointer(found) - UnsafeRawPointer(buffer.baseAddress!)
        defer {
          offset += end + 1 - start
          start = end + 1
        }
        return UnsafeRawBufferPointer(rebasing: buffer[start..<end])
      }
      makeRoom()
      searched = filled
      let count = try system.call(.read, path) {
        pread(descriptor, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset + filled - start))
      }
      guard count > 0 else { return nil }
      filled += count
      guard filled - start <= Self.lineBytesMax else { throw FileError(.read, path, code: EFBIG) }
    }
  }

  /// Moves what isn't handed out to the front, and makes the buffer larger when that is all of it.
  private func makeRoom() {
    let count = filled - start
    if start > 0 { memmove(buffer.baseAddress!, buffer.baseAddress! + start, count) }
    (start, filled) = (0, count)
    guard filled == buffer.count else { return }
    let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 16)
    grown.copyMemory(from: UnsafeRawBufferPointer(buffer))
    buffer.deallocate()
    buffer = grown
  }
}
