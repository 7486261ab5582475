import Glibc

/// The operating system's files.
public struct RealDisk: Disk {
  public init() {}

  public func open(_ path: String, _ mode: DiskOpenMode) throws(DiskError) -> any DiskFile {
    let flags: Int32 =
      switch mode {
      case .read: O_RDONLY
      case .readWrite: O_RDWR
      case .create: O_RDWR | O_CREAT | O_TRUNC
      }
    let descriptor = retrying { Glibc.open(path, flags | O_CLOEXEC, 0o600) }
    guard descriptor >= 0 else { throw DiskError(mode == .create ? .create : .open, path, code: errno) }
    return RealFile(descriptor: descriptor, path: path)
  }

  public func rename(_ path: String, to newPath: String) throws(DiskError) {
    guard Glibc.rename(path, newPath) == 0 else { throw DiskError(.rename, path, code: errno) }
  }

  public func unlink(_ path: String) throws(DiskError) {
    guard Glibc.unlink(path) == 0 else { throw DiskError(.unlink, path, code: errno) }
  }

  public func syncDirectory(_ path: String) throws(DiskError) {
    let descriptor = retrying { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw DiskError(.open, path, code: errno) }
    defer { Glibc.close(descriptor) }
    guard fsync(descriptor) == 0 else { throw DiskError(.sync, path, code: errno) }
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
    if mkdir(path, 0o700) == 0 { return try syncParent(of: path) }
    switch errno {
    case EEXIST:
      var status = stat()
      guard stat(path, &status) == 0 else { throw DiskError(.stat, path, code: errno) }
      guard status.st_mode & S_IFMT == S_IFDIR else { throw DiskError(.makeDirectory, path, code: ENOTDIR) }
    case ENOENT:
      guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex else {
        throw DiskError(.makeDirectory, path, code: ENOENT)
      }
      try makeDirectory(String(path[..<slash]))
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw DiskError(.makeDirectory, path, code: errno) }
      try syncParent(of: path)
    default: throw DiskError(.makeDirectory, path, code: errno)
    }
  }

  public func removeDirectory(_ path: String) throws(DiskError) {
    guard rmdir(path) == 0 else { throw DiskError(.unlink, path, code: errno) }
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
    guard fdatasync(descriptor) == 0 else { throw DiskError(.sync, path, code: errno) }
  }

  func truncate(to size: Int) throws(DiskError) {
    guard retrying({ ftruncate(descriptor, off_t(size)) }) == 0 else { throw DiskError(.truncate, path, code: errno) }
  }

  func allocate(_ size: Int) throws(DiskError) {
    while true {
      let code = posix_fallocate(descriptor, 0, off_t(size))
      if code == 0 { return }
      if code != EINTR { throw DiskError(.allocate, path, code: code) }
    }
  }

  func size() throws(DiskError) -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw DiskError(.stat, path, code: errno) }
    return Int(status.st_size)
  }
}
