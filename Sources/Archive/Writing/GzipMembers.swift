import CZlib
import Records

/// Compresses into gzip members at zlib's level 1, each of which can be read without those before it.
///
/// Not thread-safe. Allocates only when it is made.
final class GzipMembers {
  static let level: Int32 = 1
  private static let outputBytes = 256 * 1024

  private let stream: UnsafeMutablePointer<z_stream>
  private let output: UnsafeMutableRawBufferPointer
  /// Bytes of the open member that went in.
  private(set) var memberBytes = 0

  init() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    let status = zlib_deflate_init(stream, Self.level, 15 + 16)
    precondition(status == Z_OK, "zlib has no memory")
    output = .allocate(byteCount: Self.outputBytes, alignment: 16)
    emptyOutput()
  }

  deinit {
    deflateEnd(stream)
    stream.deallocate()
    output.deallocate()
  }

  /// Compressed bytes that wait to be written.
  var pendingBytes: Int { output.count - Int(stream.pointee.avail_out) }

  /// Adds bytes to the open member; what fills the buffer goes to the file.
  func add(_ bytes: UnsafeRawBufferPointer, to file: AppendedFile, _ hash: SHA256Stream) throws(FileError) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    stream.pointee.next_in = UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self))
    stream.pointee.avail_in = UInt32(bytes.count)
    memberBytes += bytes.count
    while true {
      deflate(stream, Z_NO_FLUSH)
      if stream.pointee.avail_out > 0 { return }
      try write(to: file, hash)
    }
  }

  /// Ends the member, if something is in it, and writes all of it.
  func endMember(in file: AppendedFile, _ hash: SHA256Stream) throws(FileError) {
    guard memberBytes > 0 else { return }
    stream.pointee.avail_in = 0
    while deflate(stream, Z_FINISH) != Z_STREAM_END { try write(to: file, hash) }
    try write(to: file, hash)
    memberBytes = 0
    deflateReset(stream)
  }

  /// Forgets the open member.
  func dropMember() {
    memberBytes = 0
    deflateReset(stream)
    emptyOutput()
  }

  private func write(to file: AppendedFile, _ hash: SHA256Stream) throws(FileError) {
    let bytes = UnsafeRawBufferPointer(rebasing: output[..<pendingBytes])
    try file.append(bytes)
    hash.add(bytes)
    emptyOutput()
  }

  private func emptyOutput() {
    stream.pointee.next_out = output.baseAddress!.assumingMemoryBound(to: UInt8.self)
    stream.pointee.avail_out = UInt32(output.count)
  }
}
