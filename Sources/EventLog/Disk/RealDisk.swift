import CrashPoints
import Glibc

/// The operating system's files.
///
/// What is opened is an ordinary file under its own name: nothing is written through a symbolic link, and no pipe or device
/// in a file's place is waited for.
public struct RealDisk: Disk {
  public init() {}

  public func open(_ path: String, _ mode: DiskOpenMode) throws(DiskError) -> any DiskFile {
    let flags: Int32 =
      switch mode {
      case .read: O_RDONLY
      case .readWrite: O_RDWR
      case .create: O_RDWR | O_CREAT | O_TRUNC
      }
    let all = flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    guard mode == .create else { return try Self.ordinary(retrying { Glibc.open(path, all) }, .open, path) }
    return try CrashPoint.around(.create, path) { () throws(DiskError) in
      try Self.ordinary(retrying { Glibc.open(path, all, 0o600) }, .create, path)
    }
  }

  /// Takes over what was opened, if it is an ordinary file.
  private static func ordinary(
    _ descriptor: Int32, _ operation: DiskError.Operation, _ path: String
  ) throws(DiskError) -> RealFile {
    guard descriptor >= 0 else { throw DiskError(operation, path, code: errno) }
    let file = RealFile(descriptor: descriptor, path: path)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw DiskError(.stat, path, code: errno) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return file
    case S_IFDIR: throw DiskError(operation, path, code: EISDIR)
    default: throw DiskError(operation, path, code: DiskError.noOrdinaryFile)
    }
  }

  public func rename(_ path: String, to newPath: String) throws(DiskError) {
    try CrashPoint.around(.rename, path, to: newPath) { () throws(DiskError) in
      guard Glibc.rename(path, newPath) == 0 else { throw DiskError(.rename, path, code: errno) }
    }
  }

  public func unlink(_ path: String) throws(DiskError) {
    try CrashPoint.around(.unlink, path) { () throws(DiskError) in
      guard Glibc.unlink(path) == 0 else { throw DiskError(.unlink, path, code: errno) }
    }
  }

  public func syncDirectory(_ path: String) throws(DiskError) {
    let descriptor = retrying { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw DiskError(.open, path, code: errno) }
    defer { Glibc.close(descriptor) }
    try CrashPoint.around(.syncDirectory, path) { () throws(DiskError) in
      guard fsync(descriptor) == 0 else { throw DiskError(.sync, path, code: errno) }
    }
  }

  public func list(_ path: String) throws(DiskError) -> [String] {
    guard let directory = opendir(path) else { throw DiskError(.list, path, code: errno) }
    defer { closedir(directory) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        if errno != 0 { throw DiskError(.list, path, code: errno) }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }

  public func makeDirectory(_ path: String) throws(DiskError) {
    let code = Self.make(path)
    if code == 0 { return try syncParent(of: path) }
    switch code {
    case EEXIST:
      var status = stat()
      guard stat(path, &status) == 0 else { throw DiskError(.stat, path, code: errno) }
      guard status.st_mode & S_IFMT == S_IFDIR else { throw DiskError(.makeDirectory, path, code: ENOTDIR) }
      // Whoever made it may have been killed before its name was durable.
      do throws(DiskError) {
        try syncParent(of: path)
      } catch {
        guard [EROFS, EINVAL, ENOTSUP].contains(error.code) else { throw error }
      }
    case ENOENT:
      guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else {
        throw DiskError(.makeDirectory, path, code: ENOENT)
      }
      try makeDirectory(String(path[..<slash]))
      let code = Self.make(path)
      guard code == 0 || code == EEXIST else { throw DiskError(.makeDirectory, path, code: code) }
      try syncParent(of: path)
    default: throw DiskError(.makeDirectory, path, code: code)
    }
  }

  /// 0, or why not.
  private static func make(_ path: String) -> Int32 {
    CrashPoint.around(.makeDirectory, path) { mkdir(path, 0o700) == 0 ? 0 : errno }
  }

  public func removeDirectory(_ path: String) throws(DiskError) {
    try CrashPoint.around(.removeDirectory, path) { () throws(DiskError) in
      guard rmdir(path) == 0 else { throw DiskError(.unlink, path, code: errno) }
    }
  }

  private func syncParent(of path: String) throws(DiskError) {
    let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    do throws(DiskError) {
      try syncDirectory(parent)
    } catch {
      // One that we may write to and not read: its owner's wish, and no reason not to work.
      if error.operation == .sync { throw error }
    }
  }

  public func freeSpace(_ path: String) throws(DiskError) -> UInt64 {
    var status = statvfs()
    guard statvfs(path, &status) == 0 else { throw DiskError(.stat, path, code: errno) }
    return UInt64(status.f_bavail) * UInt64(status.f_frsize)
  }
}

/// Repeats a call that a signal interrupted.
private func retrying(_ call: () -> Int32) -> Int32 {
  while true {
    let result = call()
    if result >= 0 || errno != EINTR { return result }
  }
}

/// A file of the operating system.
final class RealFile: DiskFile {
  let path: String
  private let descriptor: Int32

  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int {
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
      if count == 0 { break }
      if count > 0 {
        done += count
      } else if errno != EINTR {
        throw DiskError(.read, path, code: errno)
      }
    }
    return done
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError) {
    CrashPoint.tear(path, bytes.count) { half in
      try? writeAll(UnsafeRawBufferPointer(rebasing: bytes[..<half]), at: offset)
    }
    try CrashPoint.around(.write, path) { () throws(DiskError) in try writeAll(bytes, at: offset) }
  }

  private func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError) {
    var done = 0
    while done < bytes.count {
      let count = pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
      if count >= 0 {
        done += count
      } else if errno != EINTR {
        throw DiskError(.write, path, code: errno)
      }
    }
  }

  func syncData() throws(DiskError) {
    // Never called a second time after a failure, not even an interruption: the first call may have lost the pages.
    try CrashPoint.around(.sync, path) { () throws(DiskError) in
      guard fdatasync(descriptor) == 0 else { throw DiskError(.sync, path, code: errno) }
    }
  }

  func truncate(to size: Int) throws(DiskError) {
    try CrashPoint.around(.truncate, path) { () throws(DiskError) in
      guard retrying({ ftruncate(descriptor, off_t(size)) }) == 0 else { throw DiskError(.truncate, path, code: errno) }
    }
  }

  func allocate(_ size: Int) throws(DiskError) {
    try CrashPoint.around(.allocate, path) { () throws(DiskError) in
      while true {
        let code = posix_fallocate(descriptor, 0, off_t(size))
        if code == 0 { return }
        if code != EINTR { throw DiskError(.allocate, path, code: code) }
      }
    }
  }

  func size() throws(DiskError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw DiskError(.stat, path, code: errno) }
    return Int(status.st_size)
  }
}
