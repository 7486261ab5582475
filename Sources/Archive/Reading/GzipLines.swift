import CZlib
import Glibc
import Records

/// Reads the lines of a gzip file of any number of members, with memory for one line, and hashes the file on the way.
///
/// Not thread-safe. Blocks in file calls.
final class GzipLines {
  enum Item {
    /// A line without its line feed, good until the next call.
    case line(UnsafeRawBufferPointer)
    /// A member has ended, whole.
    case memberEnd
    case end
  }

  /// Bytes of the longest line: an event's limit is 1 MiB.
  static let lineBytesMax = 4 << 20
  private static let inputBytes = 64 * 1024

  let path: String
  private let descriptor: Int32
  private let system: FileSystem
  private let stream: UnsafeMutablePointer<z_stream>
  private let input: UnsafeMutableRawBufferPointer
  private var output: UnsafeMutableRawBufferPointer
  private var start = 0
  private var filled = 0
  private var offset = 0
  private var isEnded = false
  private var isBetweenMembers = true
  private var endsMember = false

  /// Over the bytes that were inflated so far: at ``Item/end`` and ``Item/memberEnd``, those of whole members.
  let hash = SHA256Stream()
  /// How many bytes of the file were inflated so far.
  private(set) var bytes = 0

  /// - Parameter descriptor: closed by this.
  init(_ descriptor: Int32, path: String, on system: FileSystem) {
    self.descriptor = descriptor
    self.path = path
    self.system = system
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let status = zlib_inflate_init(stream, 15 + 16)
    precondition(status == Z_OK, "zlib has no memory")
    input = .allocate(byteCount: Self.inputBytes, alignment: 16)
    output = .allocate(byteCount: 256 * 1024, alignment: 16)
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
    input.deallocate()
    output.deallocate()
    close(descriptor)
  }

  func next() throws(ArchiveError) -> Item {
    var searched = start
    while true {
      if searched < filled,
        let found = memchr(output.baseAddress! + searched, Int32(UInt8(ascii: "\n")), filled - searched)
      {
        let end = UnsafeRawPointer(found) - UnsafeRawPointer(output.baseAddress!)
        defer { start = end + 1 }
        return .line(UnsafeRawBufferPointer(rebasing: output[start..<end]))
      }
      if endsMember {
        guard start == filled else { throw damaged("has a line that isn't whole before byte \(bytes)") }
        endsMember = false
        return .memberEnd
      }
      if isEnded { return .end }
      makeRoom()
      searched = filled
      try inflateMore()
    }
  }

  private func makeRoom() {
    let count = filled - start
    if start > 0 { memmove(output.baseAddress!, output.baseAddress! + start, count) }
    (start, filled) = (0, count)
    guard filled == output.count else { return }
    let grown = UnsafeMutableRawBufferPointer.allocate(byteCount: output.count * 2, alignment: 16)
    grown.copyMemory(from: UnsafeRawBufferPointer(output))
    output.deallocate()
    output = grown
  }

  private func inflateMore() throws(ArchiveError) {
    guard filled <= Self.lineBytesMax else { throw damaged("has a line of more than \(Self.lineBytesMax) bytes") }
    if stream.pointee.avail_in == 0 {
      guard try readMore() else {
        guard isBetweenMembers else { throw damaged("is cut off: its last gzip member isn't whole") }
        isEnded = true
        return
      }
    }
    if isBetweenMembers {
      guard inflateReset(stream) == Z_OK else { throw damaged("can't be inflated") }
      isBetweenMembers = false
    }
    let before = Int(stream.pointee.avail_in)
    let source = UnsafeRawPointer(stream.pointee.next_in!)
    stream.pointee.next_out = (output.baseAddress! + filled).assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(output.count - filled)
    let status = inflate(stream, Z_NO_FLUSH)
    filled = output.count - Int(stream.pointee.avail_out)
    let used = before - Int(stream.pointee.avail_in)
    hash.add(UnsafeRawBufferPointer(start: source, count: used))
    bytes += used
    switch status {
    case Z_STREAM_END: (isBetweenMembers, endsMember) = (true, true)
    case Z_OK: break
    default:
      let reason = stream.pointee.msg.map { String(cString: $0) } ?? "error \(status)"
      throw damaged("is damaged near byte \(bytes): \(reason)")
    }
  }

  /// - Returns: false at the file's end.
  private func readMore() throws(ArchiveError) -> Bool {
    do throws(FileError) {
      let count = try system.call(.read, path) { pread(descriptor, input.baseAddress, input.count, off_t(offset)) }
      offset += count
      stream.pointee.next_in = input.baseAddress!.assumingMemoryBound(to: UInt8.self)
      stream.pointee.avail_in = UInt32(count)
      return count > 0
    } catch {
      throw .file(error)
    }
  }

  private func damaged(_ detail: String) -> ArchiveError { .damaged(path: path, detail: detail) }
}
