/// What a file is told from others by, over changes of its name.
public struct FileIdentity: Sendable, Hashable {
  public var inode: UInt64
  /// Nanoseconds since 1970; 0 where the file system doesn't say.
  public var born: Int64

  public init(inode: UInt64, born: Int64) {
    self.inode = inode
    self.born = born
  }
}
