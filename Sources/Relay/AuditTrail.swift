import Clocks
import Glibc
import JSON
import Records
import Synchronization

/// Leaves a line in `data_dir/audit.ndjson` for every change that an operator makes.
final class AuditTrail: Sendable {
  /// Bytes at the end in which what a crash tore is looked for: more than a line has.
  private static let tailBytesMax = 1 << 20

  private let path: String
  private let files: FileSystem
  private let clock: WallClock
  /// Whether the file is known to be durable under its name, and to end with a whole line.
  private let isSound = Mutex(false)

  init(directory: String, files: FileSystem = .system, clock: WallClock = .system) {
    path = "\(directory)/audit.ndjson"
    self.files = files
    self.clock = clock
  }

  /// Writes the line and syncs it; with the first one of a process the file's name too.
  /// - Throws: ``RelayError`` when it can't be written: then the change must not be made.
  func record(_ action: String, by actor: String, _ details: JSONValue = [:]) throws(RelayError) {
    let line =
      JSONValue.object([
        .init("at", .string(clock.now.description)), .init("action", .string(action)), .init("by", .string(actor)),
        .init("details", details),
      ]).utf8 + [UInt8(ascii: "\n")]
    let failure = isSound.withLock { isSound -> FileError? in
      do throws(FileError) {
        try append(line, isSound: isSound)
        isSound = true
        return nil
      } catch {
        // Whatever is behind the last whole line is cut off before the next one.
        isSound = false
        return error
      }
    }
    if let failure {
      throw RelayError("cannot write the audit line: \(failure); nothing was changed")
    }
  }

  private func append(_ line: [UInt8], isSound: Bool) throws(FileError) {
    let descriptor = try files.call(.create, path) {
      open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    }
    defer { close(descriptor) }
    guard try files.facts(of: descriptor, path: path).isRegular else {
      throw FileError(.open, path, code: FileError.malformed)
    }
    if !isSound { try cutTornLine(descriptor) }
    let before = try files.facts(of: descriptor, path: path).length
    var written = 0
    do throws(FileError) {
      while written < line.count {
        // (A closure can't throw a typed error through an array's pointer.)
        written += try line.withUnsafeBytes { bytes in
          Result { () throws(FileError) in
            try files.write(UnsafeRawBufferPointer(rebasing: bytes[written...]), to: descriptor, path)
          }
        }.get()
      }
      try files.call(.sync, path) { fdatasync(descriptor) }
      if !isSound { try files.syncDirectory(FileSystem.parent(of: path)) }
    } catch {
      // What was written of it, even all, must not read as something that was done.
      if written > 0 { _ = try? files.call(.cut, path) { ftruncate(descriptor, off_t(before)) } }
      throw error
    }
  }

  /// Cuts off what is behind the last line's end: a write that never ended, and of which nobody was told.
  private func cutTornLine(_ descriptor: Int32) throws(FileError) {
    let length = try files.facts(of: descriptor, path: path).length
    let start = max(0, length - Self.tailBytesMax)
    var tail = [UInt8](repeating: 0, count: length - start)
    let count = try files.call(.read, path) { pread(descriptor, &tail, tail.count, off_t(start)) }
    tail.removeLast(tail.count - count)
    let end = tail.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    // What is longer than any line of ours is left alone.
    guard end < tail.count, end > 0 || start == 0 else { return }
    try files.call(.cut, path) { ftruncate(descriptor, off_t(start + end)) }
  }
}

/// What keeps the relay from doing something, in words for its operator: what, where, and what to do.
struct RelayError: Error, Sendable, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
