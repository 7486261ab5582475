/// One thing that a program did to its files, as the shim recorded it. Paths are below the journal's root.
public enum JournalRecord: Sendable, Equatable {
  /// A process began to record.
  case started
  case created(FileIdentity, path: String)
  case madeDirectory(FileIdentity, path: String)
  /// The bytes stand in the journal.
  case wrote(inode: UInt64, offset: Int, bytes: Range<Int>)
  case zeroed(inode: UInt64, offset: Int, count: Int)
  case truncated(inode: UInt64, size: Int)
  /// The file has at least this size now.
  case allocated(inode: UInt64, size: Int)
  case renamed(path: String, to: String)
  case unlinked(path: String)
  case removedDirectory(path: String)
  /// A sync of a file or directory: what was done to it before this is safe once the sync of this ticket has returned.
  case syncBegan(inode: UInt64, ticket: UInt64)
  case syncReturned(inode: UInt64, ticket: UInt64)
  /// What the shim can't tell: the journal is of no use.
  case unsupported(String)
}
