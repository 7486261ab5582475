import Clocks
import Glibc
import Records

extension ArchiveWriter {
  /// What a sweep did.
  public struct Sweep: Sendable, Equatable {
    public var files = 0
    public var bytes = 0
    /// There may be more to remove: it is worth calling again at once.
    public var isUnfinished = false
  }

  /// Removes files that are wholly older than a moment, the oldest first, at most `limit` of them.
  ///
  /// Each gets a line in the manifest, and only once that is durable it goes: a hole would look like a theft.
  /// - Parameter moment: files whose newest `received_at` is before it go.
  public func removeFiles(before moment: Timestamp, at now: Timestamp, limit: Int = 100) throws(ArchiveError) -> Sweep {
    let (old, isUnfinished) = try ArchiveError.wrapping { () throws(FileError) in
      try finishPublishing()
      try removeFilesWithTombstones()
      return try oldFiles(before: moment, limit: limit)
    }
    for file in old {
      try write(.removed(ManifestRemoval(file: file.file, name: file.name)), at: now)
      unremoved.append(file.name)
    }
    try ArchiveError.wrapping { () throws(FileError) in try removeFilesWithTombstones() }
    return Sweep(
      files: old.count, bytes: old.reduce(0) { $0 + $1.contents.bytes + $1.contents.saltsBytes },
      isUnfinished: isUnfinished)
  }

  private func removeFilesWithTombstones() throws(FileError) {
    guard !unremoved.isEmpty else { return }
    while let name = unremoved.first {
      try directory.remove(name.lines)
      try directory.remove(name.salts)
      unremoved.removeFirst()
    }
    try directory.sync()
  }

  /// The oldest files there are, while they are old; the first that isn't ends the search.
  private func oldFiles(
    before moment: Timestamp, limit: Int
  ) throws(FileError) -> (files: [ManifestFile], isUnfinished: Bool) {
    let lines = ManifestLines(
      try directory.open(ArchiveFileName.manifest, O_RDONLY), path: manifest.path, from: sweepOffset,
      on: directory.system)
    var files: [ManifestFile] = []
    while lines.offset < manifest.syncedLength {
      let start = lines.offset
      guard let line = try lines.next() else { break }
      // These lines were checked when the archive was opened, or are our own.
      guard case .file(let file)? = (try? ManifestEntry.read(line))?.entry.content else { continue }
      guard file.file > chain.removedFiles else { continue }
      guard file.receivedUntil < moment else {
        if files.isEmpty { sweepOffset = start }
        break
      }
      guard files.count < limit else { return (files, true) }
      files.append(file)
    }
    return (files, false)
  }
}
