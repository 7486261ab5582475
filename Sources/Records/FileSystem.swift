import CrashPoints
import Glibc

/// The file system as record files use it, with a place for tests to make its calls fail.
public struct FileSystem: Sendable {
  /// Asked before each call; what it returns other than 0 is the `errno` the call fails with.
  public typealias Fault = @Sendable (FileError.Operation, _ path: String) -> Int32

  private let fault: Fault?

  public init(fault: Fault? = nil) { self.fault = fault }

  public static let system = FileSystem()

  /// Makes one call, again when a signal interrupts it. One that changes something has a ``CrashPoint`` on either side.
  ///
  /// - Parameters:
  ///   - path: what the call is about, for the error and for a test's fault.
  ///   - other: the new name of what is renamed.
  @discardableResult
  public func call<Result: FixedWidthInteger>(
    _ operation: FileError.Operation, _ path: String, to other: String? = nil, _ body: () -> Result
  ) throws(FileError) -> Result {
    guard let change = operation.change else { return try attempt(operation, path, body) }
    return try CrashPoint.around(change, path, to: other) { () throws(FileError) in
      try attempt(operation, path, body)
    }
  }

  /// Appends some of the bytes, or writes them where the descriptor stands.
  /// - Returns: how many.
  public func write(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, _ path: String
  ) throws(FileError) -> Int {
    CrashPoint.tear(path, bytes.count) { half in _ = Glibc.write(descriptor, bytes.baseAddress, half) }
    return try call(.write, path) { Glibc.write(descriptor, bytes.baseAddress, bytes.count) }
  }

  private func attempt<Result: FixedWidthInteger>(
    _ operation: FileError.Operation, _ path: String, _ body: () -> Result
  ) throws(FileError) -> Result {
    if let code = fault?(operation, path), code != 0 { throw FileError(operation, path, code: code) }
    while true {
      let result = body()
      if result >= 0 { return result }
      let code = errno
      if code != EINTR { throw FileError(operation, path, code: code) }
    }
  }

  /// What `stat` tells of a file, without following a symbolic link in its place; nil when there is none.
  public func facts(of path: String) throws(FileError) -> FileFacts? {
    var status = stat()
    do throws(FileError) {
      try call(.inspect, path) { lstat(path, &status) }
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return nil }
      throw error
    }
    return FileFacts(status)
  }

  /// What `fstat` tells of an open file.
  public func facts(of descriptor: Int32, path: String) throws(FileError) -> FileFacts {
    var status = stat()
    try call(.inspect, path) { fstat(descriptor, &status) }
    return FileFacts(status)
  }

  /// Makes a directory and those above it that are missing, 0700 each, and syncs the ones that got an entry.
  public func makeDirectories(_ path: String) throws(FileError) {
    if path.isEmpty || path == "/" || path == "." { return }
    do throws(FileError) {
      try call(.makeDirectory, path) { mkdir(path, 0o700) }
    } catch {
      switch error.code {
      case EEXIST:
        // What is in its place shows at the next step when it is no directory.
        return try syncExisting(Self.parent(of: path))
      case ENOENT:
        try makeDirectories(Self.parent(of: path))
        do throws(FileError) {
          try call(.makeDirectory, path) { mkdir(path, 0o700) }
        } catch  where error.code == EEXIST {
          return try syncExisting(Self.parent(of: path))
        }
      default: throw error
      }
    }
    try syncDirectory(Self.parent(of: path))
  }

  /// Makes the name of what is there already durable: whoever made it may have been killed before it was.
  ///
  /// A parent that may not be read, or on which nothing can be synced, is its owner's wish, and no reason not to work.
  private func syncExisting(_ parent: String) throws(FileError) {
    do throws(FileError) {
      try syncDirectory(parent)
    } catch {
      guard [EACCES, EPERM, EROFS, EINVAL, ENOTSUP].contains(error.code) else { throw error }
    }
  }

  /// Makes a directory's entries durable.
  public func syncDirectory(_ path: String) throws(FileError) {
    let descriptor = try attempt(.syncDirectory, path) { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    defer { close(descriptor) }
    try call(.syncDirectory, path) { fsync(descriptor) }
  }

  /// Removes a file; one that is not there is fine.
  public func remove(_ path: String) throws(FileError) {
    do throws(FileError) {
      try call(.remove, path) { unlink(path) }
    } catch  where error.code == ENOENT {
    }
  }

  /// Removes a directory if nothing is in it.
  /// - Returns: whether it is gone.
  public func removeEmptyDirectory(_ path: String) throws(FileError) -> Bool {
    do throws(FileError) {
      try CrashPoint.around(.removeDirectory, path) { () throws(FileError) in
        _ = try attempt(.remove, path) { rmdir(path) }
      }
      return true
    } catch {
      if error.code == ENOTEMPTY || error.code == EEXIST { return false }
      if error.code == ENOENT { return true }
      throw error
    }
  }

  /// The names in a directory without `.` and `..`, in no order; none when there is no such directory.
  public func list(_ path: String) throws(FileError) -> [String] {
    if let code = fault?(.list, path), code != 0 { throw FileError(.list, path, code: code) }
    guard let directory = opendir(path) else {
      let code = errno
      if code == ENOENT || code == ENOTDIR { return [] }
      throw FileError(.list, path, code: code)
    }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// The directory a path lies in.
  public static func parent(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    let parent = String(path[..<slash])
    return parent.isEmpty ? "/" : parent
  }
}

/// What `stat` tells of a file.
public struct FileFacts: Sendable, Equatable {
  public var device, inode: UInt64
  /// Bytes.
  public var length: Int
  /// Names the file has; 0 when it is deleted and only open.
  public var links: Int
  public var isRegular: Bool
  public var isDirectory: Bool
  /// When its contents last changed, in milliseconds since 1970.
  public var modifiedMilliseconds: Int64

  public init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    length = Int(status.st_size)
    links = Int(status.st_nlink)
    isRegular = status.st_mode & S_IFMT == S_IFREG
    isDirectory = status.st_mode & S_IFMT == S_IFDIR
    modifiedMilliseconds = Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
  }
}
