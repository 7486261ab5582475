import Glibc

extension Disk {
  /// All bytes of a small file.
  ///
  /// - Throws: `EFBIG` when the file is larger than the limit.
  func readWhole(_ path: String, limit: Int) throws(DiskError) -> [UInt8] {
    let file = try open(path, .read)
    let size = try file.size()
    guard size <= limit else { throw DiskError(.read, path, code: EFBIG) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 16)
    defer { buffer.deallocate() }
    let count = try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<size]), at: 0)
    return [UInt8](buffer[..<count])
  }

  /// Puts a whole file in place of the old one: after a crash the one or the other is there, never a mix.
  func replace(_ path: String, in directory: String, with bytes: [UInt8]) throws(DiskError) {
    let temporary = "\(path).tmp"
    let file = try open(temporary, .create)
    // (A closure can't throw a typed error through an array's pointer.)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(DiskError) in try file.write(bytes, at: 0) }
    }
    try result.get()
    try file.syncData()
    try rename(temporary, to: path)
    try syncDirectory(directory)
  }
}
