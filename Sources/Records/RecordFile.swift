import Glibc

/// An append-only file of lines whose owner knows how much of it counts: exactly once through crashes.
///
/// The owner appends, syncs, and commits the ``mark`` together with its position in one atomic write. After a crash it
/// opens the file by the mark (``reopen(_:on:)``), which cuts off what was not committed, and writes that again.
///
/// One process at a time has it open for writing (`flock`). Not thread-safe; owned by one thread. Closed with its last use.
public final class RecordFile {
  public let path: String
  /// Bytes appended so far, synced or not.
  public private(set) var length: Int
  /// How far the file is synced. Commit only this.
  public private(set) var mark: FileMark
  /// A sync failed: what was appended since the mark can't be trusted, and nothing more is appended.
  public private(set) var isFailed = false

  let descriptor: Int32
  private var writeback: EarlyWriteback
  let system: FileSystem

  /// Bytes before the mark that its hash covers.
  static let tailBytes = 1024
  /// The hash of nothing.
  static let emptyTail: UInt64 = 0xcbf2_9ce4_8422_2325

  /// Takes over a descriptor that is open for reading and appending, and locked.
  init(path: String, descriptor: Int32, mark: FileMark, system: FileSystem) {
    self.path = path
    self.descriptor = descriptor
    self.mark = mark
    self.system = system
    length = mark.length
    writeback = EarlyWriteback(from: length)
  }

  deinit { close(descriptor) }

  /// The machine has started since the mark was made, and the device has another number now.
  func isNow(on device: UInt64) { mark.device = device }

  public var unsyncedBytes: Int { length - mark.length }

  /// Appends whole lines.
  ///
  /// When it throws, none of them counts: what was written of them is cut off, now or by ``cutToMark()``.
  public func append(_ bytes: UnsafeRawBufferPointer) throws(FileError) {
    guard !isFailed else { throw FileError(.write, path, code: EIO) }
    var rest = bytes
    do throws(FileError) {
      while !rest.isEmpty {
        let written = try system.write(rest, to: descriptor, path)
        rest = UnsafeRawBufferPointer(rebasing: rest[written...])
      }
    } catch {
      if rest.count < bytes.count { try? cut(to: length) }
      throw error
    }
    length += bytes.count
    writeback.grew(to: length, descriptor: descriptor)
  }

  /// Makes what was appended durable, and moves the mark.
  ///
  /// When it throws, the kernel may have dropped what it couldn't write: ``cutToMark()``, and go on in another file.
  public func sync() throws(FileError) {
    guard !isFailed else { throw FileError(.sync, path, code: EIO) }
    guard unsyncedBytes > 0 else { return }
    do throws(FileError) {
      try system.call(.sync, path) { fdatasync(descriptor) }
      let tail = try Self.tail(of: descriptor, before: length, path, system)
      mark.length = length
      mark.tail = tail
    } catch {
      isFailed = true
      throw error
    }
  }

  /// Cuts off what was appended since the mark, durably.
  public func cutToMark() throws(FileError) {
    try cut(to: mark.length)
    try system.call(.sync, path) { fdatasync(descriptor) }
    length = mark.length
  }

  /// Takes back what was appended since an earlier mark of this file, durably, synced or not.
  public func rollBack(to earlier: FileMark) throws(FileError) {
    precondition(
      earlier.length <= mark.length && earlier.inode == mark.inode, "the mark is no earlier one of this file")
    try cut(to: earlier.length)
    try system.call(.sync, path) { fdatasync(descriptor) }
    length = earlier.length
    mark.length = earlier.length
    mark.tail = earlier.tail
  }

  private func cut(to length: Int) throws(FileError) {
    try system.call(.cut, path) { ftruncate(descriptor, off_t(length)) }
  }

  /// What became of the file under its name, while it was open.
  public enum Place: Sendable, Equatable {
    case unchanged
    /// Its name is gone or another's; the file itself lives on under a name we don't know.
    case renamed
    /// The file has no name left: what is in it is lost when it is closed.
    case deleted
    /// Somebody else made it shorter: what was appended may be gone.
    case shortened
    /// Somebody else wrote to it: our lines are in it, whole, and others between or behind them.
    case lengthened
  }

  /// Looks whether the file is still what the owner thinks it is. Cheap enough for once a second.
  public func look() throws(FileError) -> Place {
    let open = try system.facts(of: descriptor, path: path)
    if open.links == 0 { return .deleted }
    if open.length < length { return .shortened }
    let named = try system.facts(of: path)
    if named?.device != open.device || named?.inode != open.inode { return .renamed }
    return open.length > length ? .lengthened : .unchanged
  }

  /// A hash (FNV-1a) of the last bytes before `length`.
  static func tail(
    of descriptor: Int32, before length: Int, _ path: String, _ system: FileSystem
  ) throws(FileError) -> UInt64 {
    let count = min(length, tailBytes)
    var hash = emptyTail
    let fault = withUnsafeTemporaryAllocation(byteCount: max(count, 1), alignment: 1) { bytes -> FileError? in
      do throws(FileError) {
        let read = try system.call(.read, path) { pread(descriptor, bytes.baseAddress!, count, off_t(length - count)) }
        for byte in bytes[..<read] { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return nil
      } catch {
        return error
      }
    }
    if let fault { throw fault }
    return hash
  }
}
