import CrashPoints
import Glibc

/// A failed file operation: what, which path, why, and what to do.
public struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Operation: String, Sendable, CaseIterable {
    case open, create, read, write, sync, cut, lock, inspect, list, remove, rename
    case makeDirectory = "make directory"
    case syncDirectory = "sync directory"

    /// What it changes, where it changes anything.
    var change: CrashPoint.Operation? {
      switch self {
      case .create: .create
      case .write: .write
      case .sync: .sync
      case .cut: .truncate
      case .remove: .unlink
      case .rename: .rename
      case .makeDirectory: .makeDirectory
      case .syncDirectory: .syncDirectory
      case .open, .read, .lock, .inspect, .list: nil
      }
    }
  }

  /// The code of a file that can be read and doesn't hold what it should.
  public static let malformed = EBADMSG

  public var operation: Operation
  public var path: String
  /// The `errno` it failed with.
  public var code: Int32

  public init(_ operation: Operation, _ path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// Whether space on the disk, or a quota, is what is missing.
  public var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT }

  public var description: String {
    "can't \(operation.rawValue) \(path): \(String(cString: strerror(code))) (errno \(code)); \(advice)"
  }

  private var advice: String {
    switch code {
    case ENOSPC: "free space on its disk"
    case EDQUOT: "raise the quota or free space"
    case EFBIG: "raise the limit of file sizes, or rotate at a smaller size"
    case EACCES, EPERM: "give the relay's user the right to do so"
    case EROFS: "mount its file system writable or choose another path"
    case ENOENT: "its directory is missing: make it, or choose another path"
    case ENOTDIR: "a part of the path is no directory: move that file away or choose another path"
    case EISDIR: "a directory is in its place: move it away or choose another path"
    case ELOOP: "a symbolic link is in its place: move it away or choose another path"
    case ENAMETOOLONG: "choose a shorter path"
    case EMFILE, ENFILE: "raise the limit of open files"
    case EWOULDBLOCK: "another process, or another sink, writes it: give each its own path"
    case EBADMSG: "it doesn't hold what it should: put it back from a backup, or move it away"
    case EIO, ENXIO, ENODEV: "check the disk and the kernel's messages"
    default: "check the path and its disk"
    }
  }
}
