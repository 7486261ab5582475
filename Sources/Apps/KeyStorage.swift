import Clocks
import Glibc
import Observability

/// Keeps the keys that made apps of their own on stable storage.
struct KeyStorage: Sendable {
  /// Why something can't be done with a file.
  struct Failure: Error {
    var call: String
    var path: String
    var code: Int32
    var reason: String { "\(call) failed: \(String(cString: strerror(code)))" }
  }

  /// Nil: in memory only.
  let path: String?

  /// What the file holds; nothing when there is none. A damaged file is copied aside, and what can be read of it is used.
  func load(now: Timestamp, logger: Logger) throws(AppsError) -> [KeyFile.Line] {
    guard let path else { return [] }
    let bytes: [UInt8]
    do {
      bytes = try Self.read(path)
    } catch {
      if error.code == ENOENT { return [] }
      throw .unreadable(path: path, reason: error.reason)
    }
    switch KeyFile.parse(bytes) {
    case .whole(let lines): return lines
    case .newer(let found): throw .newerVersion(path: path, found: found, known: KeyFile.version)
    case .damaged(let lines):
      let aside = "\(path).damaged-\(now.milliseconds)"
      do {
        try Self.write(bytes, to: aside)
        try store(lines)
      } catch {
        throw .unreadable(path: path, reason: "it is damaged, and setting it aside as \(error.path): \(error.reason)")
      }
      logger.error(
        "the file of senders' keys was damaged; events waiting for a key that is missing now are held until it is presented again",
        ["file": .text(path), "copy": .text(aside), "keys_left": .integer(lines.count)])
      return lines
    }
  }

  /// Writes all keys; when it returns, they survive a crash of the computer.
  func store(_ lines: [KeyFile.Line]) throws(Failure) {
    guard let path else { return }
    let temporary = "\(path).tmp"
    try Self.write(KeyFile.content(of: lines), to: temporary)
    guard rename(temporary, path) == 0 else { throw Failure(call: "rename", path: path, code: errno) }
    try Self.syncDirectory(of: path)
  }

  private static func read(_ path: String) throws(Failure) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(call: "open", path: path, code: errno) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < KeyFile.bytesMax {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw Failure(call: "read", path: path, code: errno)
      }
      guard count > 0 else { break }
      bytes += chunk[..<count]
    }
    return bytes
  }

  private static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Failure(call: "open", path: path, code: errno) }
    defer { close(descriptor) }
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + written, bytes.count - written) }
      if count < 0 {
        if errno == EINTR { continue }
        throw Failure(call: "write", path: path, code: errno)
      }
      written += count
    }
    guard fsync(descriptor) == 0 else { throw Failure(call: "fsync", path: path, code: errno) }
  }

  private static func syncDirectory(of path: String) throws(Failure) {
    let directory = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure(call: "open", path: directory, code: errno) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw Failure(call: "fsync", path: directory, code: errno) }
  }
}
