import Clocks
import Observability
import Records

/// Keeps the keys that made apps of their own on stable storage.
struct KeyStorage: Sendable {
  /// Nil: in memory only.
  let path: String?
  private let files = FileSystem.system
  /// Bytes of a file that are taken in at all; what is behind the keys that a whole one can have is damage.
  private static let readMax = 64 << 20

  init(path: String?) { self.path = path }

  /// What the file holds; nothing when there is none. A damaged file is copied aside, and what can be read of it is used.
  func load(now: Timestamp, logger: Logger) throws(AppsError) -> [KeyFile.Line] {
    guard let path else { return [] }
    let bytes: [UInt8]
    do throws(FileError) {
      guard let found = try files.readWhole(path, limit: Self.readMax) else { return [] }
      bytes = Array(found.prefix(KeyFile.bytesMax))
    } catch {
      throw .unreadable(path: path, reason: error.description)
    }
    switch KeyFile.parse(bytes) {
    case .whole(let lines): return lines
    case .newer(let found): throw .newerVersion(path: path, found: found, known: KeyFile.version)
    case .damaged(let lines):
      let aside = "\(path).damaged-\(now.milliseconds)"
      do throws(FileError) {
        try files.replace(aside, with: bytes)
        try store(lines)
      } catch {
        throw .unreadable(path: path, reason: "it is damaged and can't be set aside: \(error.description)")
      }
      logger.error(
        "the file of senders' keys was damaged; events waiting for a key that is missing now are held until it is presented again",
        ["file": .text(path), "copy": .text(aside), "keys_left": .integer(lines.count)])
      return lines
    }
  }

  /// Writes all keys; when it returns, they survive a crash of the computer.
  func store(_ lines: [KeyFile.Line]) throws(FileError) {
    guard let path else { return }
    try files.replace(path, with: KeyFile.content(of: lines))
  }
}
