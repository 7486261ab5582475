import Glibc

/// A file operation that failed: which, on what, and the system's error number.
public struct DiskError: Error, Sendable, Equatable, CustomStringConvertible {
  public enum Operation: String, Sendable {
    case open = "open", create = "create", read = "read", write = "write to", sync = "sync", truncate = "truncate"
    case allocate = "reserve space for", rename = "rename", unlink = "remove", list = "list"
    case makeDirectory = "make the directory", stat = "look at", lock = "lock"
  }

  /// The code of something that is no ordinary file: a pipe, a device, a socket.
  public static let noOrdinaryFile: Int32 = -1

  public let operation: Operation
  public let path: String
  public let code: Int32

  public init(_ operation: Operation, _ path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// The disk, or what this user may use of it, is full: not a fault of the disk.
  public var isOutOfSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }

  public var isMissing: Bool { code == ENOENT }

  /// What, which path, why, and what to do, in one sentence.
  public var description: String {
    let why = code == Self.noOrdinaryFile ? "it is no ordinary file" : String(cString: strerror(code))
    let advice = advice.map { ": \($0)" } ?? ""
    return "can't \(operation.rawValue) \(path): \(why)\(advice)"
  }

  /// The one place where error numbers become advice.
  private var advice: String? {
    switch code {
    case EACCES, EPERM: "give the relay's user the right to read and write there"
    case ENOENT: "check that the path exists"
    case ENOTDIR: "a part of the path is a file; name a directory"
    case EISDIR: "it is a directory where a file belongs; move it away"
    case Self.noOrdinaryFile: "a pipe or a device is where a file belongs; move it away"
    case EROFS: "the file system is mounted read-only; mount it for writing or choose another data_dir"
    case ENOSPC: "free some space on this file system; the relay goes on by itself"
    case EDQUOT: "the user's quota is used up; raise it or free some space, the relay goes on by itself"
    case EFBIG: "the file system or ulimit -f allows no file this large; raise the limit or lower log.segment_size"
    case EIO: "the device reports an error; check its health (dmesg, smartctl) before starting again"
    case EMFILE, ENFILE: "too many files are open; raise the limit (ulimit -n, LimitNOFILE)"
    case ENAMETOOLONG: "the path is too long; choose a shorter data_dir"
    case ELOOP: "a symbolic link is where a file belongs, and isn't followed; put the file there, or move the link away"
    case ETXTBSY, EBUSY: "something else holds it; end that first"
    default: nil
    }
  }
}

extension LogError {
  init(_ error: DiskError) { self.init(error.description) }
}

/// Runs file work in a place that speaks of the log's errors.
func asLogError<Result>(_ body: () throws(DiskError) -> Result) throws(LogError) -> Result {
  do throws(DiskError) { return try body() } catch { throw LogError(error) }
}
