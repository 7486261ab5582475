import CPlatform
import Glibc

extension FileMark {
  /// How the marked file is now.
  public enum Finding: Sendable, Equatable {
    /// It holds what was written, and perhaps more.
    case whole
    /// Nothing has its name, or another file does: it was moved, removed or written anew.
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
    guard let named = try system.facts(of: path), named.isRegular else { return .moved }
    let descriptor: Int32
    do throws(FileError) {
      descriptor = try system.call(.open, path) { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    } catch {
      if error.code == ENOENT { return .moved }
      throw error
    }
    defer { close(descriptor) }
    let facts = try system.facts(of: descriptor, path: path)
    // The number of a file that is gone is given to another.
    let born = platform_birth_time(descriptor)
    let isBornThen = self.born == 0 || born == 0 || born == self.born
    guard facts.inode == inode, facts.device == device, isBornThen else { return .moved }
    guard facts.length >= length else { return .shortened(to: facts.length) }
    return try RecordFile.tail(of: descriptor, before: length, path, system) == tail ? .whole : .changed
  }
}
