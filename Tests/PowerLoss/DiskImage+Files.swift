import CPlatform
import Glibc

extension DiskImage {
  /// Why an image can't be put on the disk.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  /// Puts it below a directory that is there, and a file of identities (for the shim) that lets what it made pass for the files
  /// that it was.
  /// - Parameter generation: 1 for the first cut of a journal, one more for a cut of what was recorded after that.
  public func write(below root: String, identities: String, generation: Int) throws {
    var lines = "generation \(generation)\n"
    func note(_ path: String, _ identity: FileIdentity) {
      var status = stat()
      guard lstat(path, &status) == 0 else { return }
      lines += "\(status.st_ino) \(platform_birth_time_of(path)) \(identity.inode) \(identity.born)\n"
    }
    for entry in entries {
      let path = "\(root)/\(entry.path)"
      if let content = entry.content {
        try Self.write(content, to: path)
      } else if mkdir(path, 0o700) != 0 {
        throw Self.failure("make", path)
      }
      note(path, entry.identity)
    }
    if root != "", self.root.inode != 0 { note(root, self.root) }
    try Self.write(Array(lines.utf8), to: identities)
  }

  /// Whole pieces of zeros become holes.
  private static func write(_ content: [UInt8], to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure("create", path) }
    defer { close(descriptor) }
    let isWritten = content.withUnsafeBytes { bytes in
      let piece = 65536
      for start in stride(from: 0, to: bytes.count, by: piece) {
        let count = min(piece, bytes.count - start)
        guard let base = bytes.baseAddress.map({ $0 + start }) else { continue }
        let isZero = bytes[start] == 0 && memcmp(base, base + 1, count - 1) == 0
        if !isZero, pwrite(descriptor, base, count, off_t(start)) != count { return false }
      }
      return ftruncate(descriptor, off_t(bytes.count)) == 0
    }
    if !isWritten { throw failure("write", path) }
  }

  private static func failure(_ what: String, _ path: String) -> Failure {
    Failure(description: "can't \(what) \(path): \(String(cString: strerror(errno)))")
  }
}
