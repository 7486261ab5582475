import Glibc
import Records

/// An archive's directory, held open: what is done in it is done in this one, whatever its name is by then.
///
/// Not thread-safe. Blocks in file calls.
final class ArchiveDirectory {
  let path: String
  let system: FileSystem
  private let descriptor: Int32

  /// Opens a directory that is there.
  init(_ path: String, on system: FileSystem) throws(FileError) {
    self.path = path
    self.system = system
    descriptor = try system.call(.open, path) { Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
  }

  deinit { close(descriptor) }

  func path(of name: String) -> String { "\(path)/\(name)" }

  /// Opens a file in it; a symbolic link in its place is refused. New files are 0600.
  func open(_ name: String, _ flags: Int32, _ operation: FileError.Operation = .open) throws(FileError) -> Int32 {
    try system.call(operation, path(of: name)) {
      openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    }
  }

  /// What `stat` tells of a file in it; nil when there is none.
  func facts(of name: String) throws(FileError) -> FileFacts? {
    var status = stat()
    do throws(FileError) {
      try system.call(.inspect, path(of: name)) { fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) }
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
    return FileFacts(status)
  }

  func has(_ name: String) throws(FileError) -> Bool { try facts(of: name) != nil }

  func rename(_ old: String, to new: String) throws(FileError) {
    try system.call(.rename, path(of: old), to: path(of: new)) { renameat(descriptor, old, descriptor, new) }
  }

  /// Removes a file; one that is not there is fine.
  func remove(_ name: String) throws(FileError) {
    do throws(FileError) {
      try system.call(.remove, path(of: name)) { unlinkat(descriptor, name, 0) }
    } catch  where error.code == ENOENT {
    }
  }

  /// Makes its entries durable.
  func sync() throws(FileError) {
    try system.call(.syncDirectory, path) { fsync(descriptor) }
  }

  /// Hands out the names in it, in no order, without `.` and `..`.
  func forEachName(_ visit: (String) -> Void) throws(FileError) {
    // A descriptor of its own: two that are duplicates share their place in the listing.
    let listed = try system.call(.list, path) {
      openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard let stream = fdopendir(listed) else {
      let code = errno
      close(listed)
      throw FileError(.list, path, code: code)
    }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw FileError(.list, path, code: errno) }
        return
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { visit(name) }
    }
  }

  /// Whether its path still names this directory.
  func isInPlace() throws(FileError) -> Bool {
    let mine = try system.facts(of: descriptor, path: path)
    guard let named = try followed(path) else { return false }
    return named.device == mine.device && named.inode == mine.inode
  }

  /// The directory itself may be a symbolic link's target.
  private func followed(_ path: String) throws(FileError) -> FileFacts? {
    var status = stat()
    do throws(FileError) {
      try system.call(.inspect, path) { stat(path, &status) }
    } catch {
      if error.code == ENOENT || error.code == ENOTDIR { return nil }
      throw error
    }
    return FileFacts(status)
  }
}
