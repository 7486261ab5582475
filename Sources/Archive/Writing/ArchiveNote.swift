/// Something that was found and seen to when an archive was opened: for its operator.
public enum ArchiveNote: Sendable, Equatable {
  /// A new archive was begun in an empty directory; what it continues, when there was one before.
  case begun(path: String, continues: ArchiveHead?)
  /// Another archive than the last time is in the directory.
  case otherArchive(path: String)
  /// The last line of the manifest wasn't whole and was cut off.
  case manifestCut(bytes: Int)
  /// A file that was being published when the process ended is published now.
  case published(file: String)
  /// The open file was found, and cut back to what is whole.
  case continued(file: String, cut: Int)
  /// An unpublished file can't be continued; it keeps its contents under another name.
  case setAside(file: String, to: String, reason: String)
  /// Events that were in the open file are not in the archive: the file is gone, or damaged.
  case missing(file: String, first: UInt64, last: UInt64)
}
