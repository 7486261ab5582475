/// Reads the beginnings of frames one after the other: many small frames with one call, and of a large one no more than
/// is wanted. Owned by whoever searches.
final class IndexWindow {
  private static let size = 256 << 10

  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
  /// What of the file is in the buffer.
  private var range = 0..<0
  private var bytesRead = 0

  deinit { buffer.deallocate() }

  /// Another file comes next.
  func forget() { range = 0..<0 }

  func takeBytesRead() -> Int {
    defer { bytesRead = 0 }
    return bytesRead
  }

  /// So many bytes of a frame, good until the next call; nil when they can't be read.
  ///
  /// - Parameter frame: how long the whole frame is: when that is much more, what follows isn't read along.
  func bytes(_ file: any DiskFile, at offset: Int, _ count: Int, of frame: Int) -> UnsafeRawPointer? {
    if offset < range.lowerBound || offset + count > range.upperBound {
      let ahead = frame > count * 2 && frame > 8 << 10 ? count : max(count, Self.size)
      if buffer.count < ahead {
        buffer.deallocate()
        buffer = .allocate(byteCount: ahead * 2, alignment: 16)
      }
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<ahead])
      guard let read = try? file.read(into: part, at: offset) else { return nil }
      bytesRead += read
      range = offset..<offset + read
      guard read >= count else { return nil }
    }
    return UnsafeRawPointer(buffer.baseAddress!) + (offset - range.lowerBound)
  }
}
