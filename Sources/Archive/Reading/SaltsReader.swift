import Glibc
import Records

/// Reads a salts file record by record, and hashes it on the way.
///
/// Not thread-safe. Blocks in file calls.
final class SaltsReader {
  enum Record {
    /// The salt's 16 bytes and the first bytes of the leaf's hash, good until the next call.
    case salt(UnsafeRawBufferPointer, check: UnsafeRawBufferPointer)
    /// The line was erased: the hash of its leaf is what is left.
    case erased(Digest)
  }

  let path: String
  private let descriptor: Int32
  private let system: FileSystem
  private let buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var filled = 0

  /// Over the bytes that were handed out so far.
  let hash = SHA256Stream()
  /// How many bytes were handed out so far.
  private(set) var bytes = 0

  /// - Parameter descriptor: closed by this.
  init(_ descriptor: Int32, path: String, on system: FileSystem) {
    self.descriptor = descriptor
    self.path = path
    self.system = system
    buffer = .allocate(byteCount: 64 * 1024, alignment: 16)
  }

  deinit {
    buffer.deallocate()
    close(descriptor)
  }

  func head() throws(ArchiveError) -> SaltsFormat.Head {
    guard let bytes = try take(SaltsFormat.headBytes) else { throw damaged("is cut off within its head") }
    do throws(Misfit) {
      return try SaltsFormat.readHead(bytes)
    } catch {
      throw damaged(error.detail)
    }
  }

  /// The next line's record; nil at the file's end.
  func next() throws(ArchiveError) -> Record? {
    guard let tag = try peek(1)?.first else { return nil }
    switch SaltsFormat.Tag(rawValue: tag) {
    case .salt:
      guard let record = try take(SaltsFormat.saltRecordBytes) else { throw cutOff }
      let salt = UnsafeRawBufferPointer(rebasing: record[1...SaltsFormat.saltBytes])
      return .salt(salt, check: UnsafeRawBufferPointer(rebasing: record[(1 + SaltsFormat.saltBytes)...]))
    case .erased:
      guard let record = try take(SaltsFormat.erasedRecordBytes),
        let leaf = Digest(UnsafeRawBufferPointer(rebasing: record[1...]))
      else { throw cutOff }
      return .erased(leaf)
    case nil: throw damaged("has a record that is neither a salt nor a hash at byte \(bytes)")
    }
  }

  private func take(_ count: Int) throws(ArchiveError) -> UnsafeRawBufferPointer? {
    guard let found = try peek(count) else { return nil }
    hash.add(found)
    bytes += count
    start += count
    return found
  }

  /// The next bytes; nil when there are fewer.
  private func peek(_ count: Int) throws(ArchiveError) -> UnsafeRawBufferPointer? {
    while filled - start < count {
      memmove(buffer.baseAddress!, buffer.baseAddress! + start, filled - start)
      (start, filled) = (0, filled - start)
      do throws(FileError) {
        let read = try system.call(.read, path) {
          pread(descriptor, buffer.baseAddress! + filled, buffer.count - filled, off_t(bytes + filled))
        }
        guard read > 0 else { return nil }
        filled += read
      } catch {
        throw .file(error)
      }
    }
    return UnsafeRawBufferPointer(rebasing: buffer[start..<start + count])
  }

  private var cutOff: ArchiveError { damaged("is cut off at byte \(bytes)") }
  private func damaged(_ detail: String) -> ArchiveError { .damaged(path: path, detail: detail) }
}
