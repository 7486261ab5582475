import Glibc
import Synchronization

/// What `stat` tells of some files, wherever symbolic links lead: it differs when one was written, replaced, or a link to it
/// or to a directory above it was turned to another.
struct WatchedFiles: Sendable, Equatable {
  struct Facts: Sendable, Equatable {
    var device, inode: UInt64
    var length: Int64
    /// Nanoseconds since 1970.
    var modified, changed: Int64
  }

  /// By path; nothing of one that isn't there.
  var facts: [String: Facts?]

  /// Looks at the files now.
  static func look(at paths: [String]) -> WatchedFiles {
    WatchedFiles(facts: Dictionary(paths.map { ($0, facts(of: $0)) }) { first, _ in first })
  }

  private static func facts(of path: String) -> Facts? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
    return Facts(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino), length: Int64(status.st_size),
      modified: nanoseconds(status.st_mtim), changed: nanoseconds(status.st_ctim))
  }
}

/// Remembers what files were like the last time that somebody looked.
final class FileWatch: Sendable {
  /// Between two looks.
  static let interval: Duration = .seconds(2)

  private let last = Mutex<WatchedFiles?>(nil)

  /// Whether anything is different from the last time. The first time it is, since nobody knows what came before.
  ///
  /// What is asked here is remembered before the files are read: one that changes meanwhile is different the next time.
  func isDifferent(_ files: WatchedFiles) -> Bool {
    last.withLock { last in
      defer { last = files }
      return last != files
    }
  }
}
