import Glibc

/// Small files that are read and written as a whole.
extension FileSystem {
  /// A file's bytes; nil when there is none.
  ///
  /// - Throws: `EFBIG` when it has more than `limit` bytes.
  public func readWhole(_ path: String, limit: Int = 64 << 20) throws(FileError) -> [UInt8]? {
    let descriptor: Int32
    do throws(FileError) {
      descriptor = try call(.open, path) { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
    defer { close(descriptor) }
    let found = try facts(of: descriptor, path: path)
    guard found.isRegular else {
      throw FileError(.read, path, code: found.isDirectory ? EISDIR : FileError.malformed)
    }
    let length = found.length
    guard length <= limit else { throw FileError(.read, path, code: EFBIG) }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(length, 1), alignment: 16)
    defer { buffer.deallocate() }
    var filled = 0
    while filled < length {
      let count = try call(.read, path) { read(descriptor, buffer.baseAddress! + filled, length - filled) }
      if count == 0 { break }
      filled += count
    }
    return [UInt8](buffer[..<filled])
  }

  /// Puts a whole file (0600) in place of the old one: after a crash the one or the other is there, never a mix.
  public func replace(_ path: String, with bytes: [UInt8]) throws(FileError) {
    let temporary = "\(path).tmp"
    let descriptor = try call(.create, temporary) {
      open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    }
    do throws(FileError) {
      var written = 0
      while written < bytes.count {
        // (A closure can't throw a typed error through an array's pointer.)
        written += try bytes.withUnsafeBytes { bytes in
          Result { () throws(FileError) in
            try write(UnsafeRawBufferPointer(rebasing: bytes[written...]), to: descriptor, temporary)
          }
        }.get()
      }
      try call(.sync, temporary) { fdatasync(descriptor) }
    } catch {
      close(descriptor)
      try? remove(temporary)
      throw error
    }
    close(descriptor)
    try move(temporary, to: path)
  }

  /// Gives a file another name in the same directory, durably; what had that name is gone.
  public func move(_ path: String, to other: String) throws(FileError) {
    try call(.rename, path, to: other) { rename(path, other) }
    try syncDirectory(Self.parent(of: other))
  }
}
