import Clocks
import Records

extension ArchiveWriter {
  /// A file that was published, and the hash of its line in the manifest.
  public struct Publication: Sendable, Equatable {
    public var file: ManifestFile
    public var head: ArchiveHead
  }

  /// Publishes the open file, all of whose lines must be synced: first the manifest names it, then it gets its name.
  ///
  /// - Returns: nil when no file is open.
  public func publish(at now: Timestamp) throws(ArchiveError) -> Publication? {
    guard let part else { return nil }
    precondition(part.unsyncedBytes == 0, "lines that aren't synced can't be published")
    let file = part.entry(file: chain.files + 1)
    try write(.file(file), at: now)
    // From here on the manifest is right about it, and only the names are behind.
    self.part = nil
    isPublishing = true
    try ArchiveError.wrapping { () throws(FileError) in try finishPublishing() }
    return Publication(file: file, head: head)
  }

  /// Gives the newest file of the manifest its name, if it doesn't have it yet.
  func finishPublishing() throws(FileError) {
    guard isPublishing, let name = chain.lastFile?.name else { return }
    try Self.rename(name.open.salts, to: name.salts, in: directory)
    try Self.rename(name.open.lines, to: name.lines, in: directory)
    try directory.sync()
    isPublishing = false
  }

  /// - Returns: whether there was something to rename.
  @discardableResult
  static func rename(_ old: String, to new: String, in directory: ArchiveDirectory) throws(FileError) -> Bool {
    guard try !directory.has(new), try directory.has(old) else { return false }
    try directory.rename(old, to: new)
    return true
  }

  /// What became of the archive under its name, while it was open.
  public enum Whereabouts: Sendable, Equatable {
    case unchanged
    /// The directory's name is gone or another's; the directory lives on, and the open file in it.
    case moved
    /// Somebody removed, cut or wrote to the manifest or the open file.
    case changed
  }

  /// Looks whether the archive is still what the writer thinks it is. Cheap enough for once a second.
  public func look() throws(ArchiveError) -> Whereabouts {
    do throws(FileError) {
      guard try isMine(manifest, ArchiveFileName.manifest) else { return .changed }
      if let part {
        guard try isMine(part.lines, part.name.lines), try isMine(part.salts, part.name.salts) else { return .changed }
      }
      return try directory.isInPlace() ? .unchanged : .moved
    } catch {
      throw .file(error)
    }
  }

  private func isMine(_ file: AppendedFile, _ name: String) throws(FileError) -> Bool {
    let mine = try file.facts()
    guard mine.links > 0, mine.length == file.length, let named = try directory.facts(of: name) else { return false }
    return named.inode == mine.inode && named.device == mine.device
  }
}
