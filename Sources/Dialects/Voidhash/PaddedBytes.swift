/// Bytes of one's own, with the readable ones behind them that readers of JSON want. Keeps its memory.
final class PaddedBytes {
  private static let padding = 64
  private var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 16)

  deinit { bytes.deallocate() }

  /// Takes other content; what it gives back is good until the next call.
  func hold(_ content: [UInt8]) -> UnsafeRawBufferPointer {
    if bytes.count < content.count + Self.padding {
      bytes.deallocate()
      bytes = .allocate(byteCount: content.count + Self.padding, alignment: 16)
    }
    bytes.copyBytes(from: content)
    // (What is behind isn't looked at, but read; it is the same every time.)
    UnsafeMutableRawBufferPointer(rebasing: bytes[content.count..<content.count + Self.padding])
      .initializeMemory(as: UInt8.self, repeating: 0)
    return UnsafeRawBufferPointer(rebasing: bytes[..<content.count])
  }
}
