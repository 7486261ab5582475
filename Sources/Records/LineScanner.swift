import Glibc

/// Reads a file's whole lines one after the other, with memory for one of them.
public enum LineScanner {
  private static let chunkBytes = 256 * 1024
  /// A longer line is no record of ours: it is skipped, and counted as a line.
  public static let lineBytesMax = 4 << 20

  /// Hands out each line with its line feed and its number, from 1, until the visitor returns false.
  public static func scan(_ path: String, _ visit: (Int, UnsafeRawBufferPointer) -> Bool) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileError(.open, path, code: errno) }
    defer { close(descriptor) }
    var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 16)
    defer { buffer.deallocate() }
    var filled = 0
    var number = 0
    var isTooLong = false
    while true {
      let count = read(descriptor, buffer.baseAddress! + filled, buffer.count - filled)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileError(.read, path, code: errno) }
      guard count > 0 else { return }
      let fresh = filled
      filled += count
      var start = 0
      var at = fresh
      while at < filled, let found = memchr(buffer.baseAddress! + at, Int32(UInt8(ascii: "\n")), filled - at) {
        let end = found - buffer.baseAddress! + 1
        number += 1
        if !isTooLong, !visit(number, UnsafeRawBufferPointer(rebasing: buffer[start..<end])) { return }
        isTooLong = false
        start = end
        at = end
      }
      filled -= start
      memmove(buffer.baseAddress!, buffer.baseAddress! + start, filled)
      if isTooLong { filled = 0 }
      guard filled == buffer.count else { continue }
      if buffer.count >= lineBytesMax {
        isTooLong = true
        filled = 0
      } else {
        let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: buffer.count * 2, alignment: 16)
        grown.copyMemory(from: UnsafeRawBufferPointer(buffer))
        buffer.deallocate()
        buffer = grown
      }
    }
  }
}
