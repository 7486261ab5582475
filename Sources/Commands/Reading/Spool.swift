import Glibc

/// Bytes that are put away until it is their turn: in memory while they are few, then in a file without a name.
///
/// Unchecked because one thread at a time uses it, as an ``InputFile``.
final class Spool: @unchecked Sendable {
  private let memoryMax: Int
  private var memory: [UInt8] = []
  private var file: UnsafeMutablePointer<FILE>?
  private(set) var isEmpty = true

  init(memoryMax: Int = 4 << 20) { self.memoryMax = memoryMax }

  deinit { if let file { fclose(file) } }

  func append(_ bytes: some Collection<UInt8>) throws(CommandFailure) {
    isEmpty = isEmpty && bytes.isEmpty
    memory += bytes
    guard memory.count > memoryMax else { return }
    if file == nil { file = tmpfile() }
    let isWritten = file.map { fwrite(memory, 1, memory.count, $0) == memory.count } ?? false
    guard isWritten else {
      throw CommandFailure("a temporary file can't be written: \(String(cString: strerror(errno))); free space in /tmp")
    }
    memory.removeAll(keepingCapacity: true)
  }

  /// Hands out everything in the order in which it came.
  func drain(_ take: ([UInt8]) -> Void) throws(CommandFailure) {
    if let file {
      rewind(file)
      var chunk = [UInt8](repeating: 0, count: 256 * 1024)
      while true {
        let count = fread(&chunk, 1, chunk.count, file)
        if count > 0 { take(Array(chunk[..<count])) }
        guard count == chunk.count else { break }
      }
      guard ferror(file) == 0 else { throw CommandFailure("a temporary file can't be read again") }
    }
    take(memory)
  }
}
