import Glibc

/// The target that this process fuzzes.
enum Chosen {
  /// Set once, before the first input.
  nonisolated(unsafe) static var target: FuzzTarget?

  /// What libFuzzer calls with each input: -1 keeps one out of the corpus.
  static func check(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let target, count <= target.bytesMax else { return -1 }
    // A copy of exactly this size, so that AddressSanitizer sees who reads past it.
    let input = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
    defer { input.deallocate() }
    if let bytes { input.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: count)) }
    do throws(BrokenPromise) {
      try target.check(UnsafeRawBufferPointer(input))
    } catch {
      say("A promise is broken: \(error)")
      abort()
    }
    return 0
  }

  static func say(_ text: String) {
    let line = Array("\(text)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
  }
}
