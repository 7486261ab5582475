import Clocks
import Glibc
import JSON
import Records
import Synchronization

/// Leaves a line in `data_dir/audit.ndjson` for every change that an operator makes.
final class AuditTrail: Sendable {
  private let path: String
  private let files = FileSystem.system
  private let clock: WallClock
  private let lock = Mutex(())

  init(directory: String, clock: WallClock = .system) {
    path = "\(directory)/audit.ndjson"
    self.clock = clock
  }

  /// Writes the line and syncs it. Behind half a line, as a crash leaves it, a new one begins.
  /// - Throws: ``RelayError`` when it can't be written: then the change must not be made.
  func record(_ action: String, by actor: String, _ details: JSONValue = [:]) throws(RelayError) {
    let line =
      JSONValue.object([
        .init("at", .string(clock.now.description)), .init("action", .string(action)), .init("by", .string(actor)),
        .init("details", details),
      ]).utf8 + [UInt8(ascii: "\n")]
    let failure = lock.withLock { _ -> FileError? in
      do throws(FileError) {
        try append(line)
        return nil
      } catch {
        return error
      }
    }
    if let failure { throw RelayError("cannot write the audit line: \(failure); nothing was changed") }
  }

  private func append(_ line: [UInt8]) throws(FileError) {
    let descriptor = try files.call(.create, path) {
      open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    }
    defer { close(descriptor) }
    let facts = try files.facts(of: descriptor, path: path)
    guard facts.isRegular else { throw FileError(.open, path, code: FileError.malformed) }
    var last = UInt8(ascii: "\n")
    if facts.length > 0 { try files.call(.read, path) { pread(descriptor, &last, 1, off_t(facts.length - 1)) } }
    let bytes = last == UInt8(ascii: "\n") ? line : [UInt8(ascii: "\n")] + line
    var written = 0
    do throws(FileError) {
      while written < bytes.count {
        // (A closure can't throw a typed error through an array's pointer.)
        written += try bytes.withUnsafeBytes { bytes in
          Result { () throws(FileError) in
            try files.write(UnsafeRawBufferPointer(rebasing: bytes[written...]), to: descriptor, path)
          }
        }.get()
      }
    } catch {
      // What was written of it must not read as something that was done.
      if written > 0 { _ = try? files.call(.cut, path) { ftruncate(descriptor, off_t(facts.length)) } }
      throw error
    }
    try files.call(.sync, path) { fdatasync(descriptor) }
    if facts.length == 0 { try files.syncDirectory(FileSystem.parent(of: path)) }
  }
}

/// What keeps the relay from doing something, in words for its operator: what, where, and what to do.
struct RelayError: Error, Sendable, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
