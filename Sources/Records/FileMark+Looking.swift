import Glibc

extension FileMark {
  /// How the marked file is now.
  public enum Finding: Sendable, Equatable {
    /// It holds what was written, and perhaps more.
    case whole
    /// Nothing has its name, or another file does: it was moved or removed.
    case moved
    /// It has fewer bytes than were written.
    case shortened(to: Int)
    /// Its last marked bytes are others than were written.
    case changed
  }

  /// Looks at the file under its name, and changes nothing.
  ///
  /// - Throws: when it is there and can't be read.
  public func look(on system: FileSystem = .system) throws(FileError) -> Finding {
    guard let facts = try system.facts(of: path), facts.isRegular, facts.inode == inode, facts.device == device else {
      return .moved
    }
    guard facts.length >= length else { return .shortened(to: facts.length) }
    let descriptor: Int32
    do throws(FileError) {
      descriptor = try system.call(.open, path) { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    } catch {
      if error.code == ENOENT { return .moved }
      throw error
    }
    defer { close(descriptor) }
    return try RecordFile.tail(of: descriptor, before: length, path, system) == tail ? .whole : .changed
  }
}
