/// The file operations the log is built on: the real ones in the relay, a simulated disk in tests.
///
/// Every failure carries the error number and the path. Blocking; called on threads of our own.
public protocol Disk: Sendable {
  func open(_ path: String, _ mode: DiskOpenMode) throws(DiskError) -> any DiskFile
  /// Atomic; durable once the directory is synced.
  func rename(_ path: String, to newPath: String) throws(DiskError)
  func unlink(_ path: String) throws(DiskError)
  /// Makes creations, renames and removals in the directory durable.
  func syncDirectory(_ path: String) throws(DiskError)
  /// The names in a directory, in no particular order.
  func list(_ path: String) throws(DiskError) -> [String]
  /// Makes a directory and those above it (mode 0700), durably; fine when it is there already.
  func makeDirectory(_ path: String) throws(DiskError)
  /// Removes a directory that holds nothing.
  func removeDirectory(_ path: String) throws(DiskError)
  /// Bytes an unprivileged process may still write on the path's file system.
  func freeSpace(_ path: String) throws(DiskError) -> UInt64
}

public enum DiskOpenMode: Sendable {
  case read
  case readWrite
  /// Makes the file (mode 0600), or empties it when it is there.
  case create
}

/// An open file; closed when the last reference goes.
public protocol DiskFile: AnyObject, Sendable {
  var path: String { get }
  /// Reads up to the buffer's size; fewer bytes only at the file's end.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(DiskError) -> Int
  /// Writes all of the bytes.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(DiskError)
  func syncData() throws(DiskError)
  func truncate(to size: Int) throws(DiskError)
  /// Reserves the disk's blocks for the first `size` bytes, the file growing to that size.
  func allocate(_ size: Int) throws(DiskError)
  func size() throws(DiskError) -> Int
}
