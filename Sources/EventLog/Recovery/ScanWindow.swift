import Glibc

/// A file seen through a window that moves on: for reading it from front to end in bounded memory.
///
/// Blocks that the disk can't read look like zeros; the checksums tell.
final class ScanWindow {
  static let size = 1024 * 1024

  private let file: any DiskFile
  /// Where the file ends, as far as it is to be looked at.
  let end: Int
  private var buffer: UnsafeMutableRawBufferPointer
  private var base = 0
  private var count = 0
  /// The first block that couldn't be read.
  private(set) var fault: DiskError?

  init(_ file: any DiskFile, end: Int) {
    self.file = file
    self.end = end
    buffer = .allocate(byteCount: min(Self.size, max(4096, end)), alignment: 4096)
  }

  deinit { buffer.deallocate() }

  /// The bytes from an offset on, at least `wanted` of them unless the file ends before.
  ///
  /// They are good until the next call, and as long as the window is held.
  func bytes(at offset: Int, _ wanted: Int) -> UnsafeRawBufferPointer {
    let wanted = max(0, min(wanted, end - offset))
    if offset < base || offset + wanted > base + count { load(offset, wanted) }
    let from = offset - base
    guard from >= 0, from < count else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(rebasing: buffer[from..<count])
  }

  /// Calls a body with the bytes from an offset on, as ``bytes(at:_:)`` returns them.
  ///
  /// The window lives until the body is done: one that is let go earlier takes its bytes with it.
  func withBytes<Result>(at offset: Int, _ wanted: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    withExtendedLifetime(self) { body(bytes(at: offset, wanted)) }
  }

  private func load(_ offset: Int, _ wanted: Int) {
    if wanted > buffer.count {
      buffer.deallocate()
      buffer = .allocate(byteCount: wanted, alignment: 4096)
    }
    base = offset
    let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<max(0, min(buffer.count, end - offset))])
    do throws(DiskError) {
      count = try file.read(into: target, at: offset)
    } catch {
      if fault == nil { fault = error }
      count = loadBlocks(offset, target)
    }
  }

  private func loadBlocks(_ offset: Int, _ target: UnsafeMutableRawBufferPointer) -> Int {
    var done = 0
    while done < target.count {
      let block = UnsafeMutableRawBufferPointer(rebasing: target[done..<min(done + 4096, target.count)])
      if let read = try? file.read(into: block, at: offset + done) {
        if read == 0 { break }
        done += read
      } else {
        memset(block.baseAddress!, 0, block.count)
        done += block.count
      }
    }
    return done
  }
}
