import Clocks
import Glibc
import JSON
import Synchronization

/// Leaves a line in `data_dir/audit.ndjson` for every change that an operator makes.
final class AuditTrail: Sendable {
  private let path: String
  private let clock: WallClock
  private let lock = Mutex(())

  init(directory: String, clock: WallClock = .system) {
    path = "\(directory)/audit.ndjson"
    self.clock = clock
  }

  /// Writes the line and syncs it.
  /// - Throws: ``RelayError`` when it can't be written: then the change must not be made.
  func record(_ action: String, by actor: String, _ details: JSONValue = [:]) throws(RelayError) {
    let line =
      JSONValue.object([
        .init("at", .string(clock.now.description)), .init("action", .string(action)), .init("by", .string(actor)),
        .init("details", details),
      ]).utf8 + [UInt8(ascii: "\n")]
    let failure = lock.withLock { _ -> Int32? in
      let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return errno }
      defer { close(descriptor) }
      guard write(descriptor, line, line.count) == line.count, fdatasync(descriptor) == 0 else { return errno }
      return nil
    }
    if let failure {
      throw RelayError(
        "cannot write the audit line to \(path): \(String(cString: strerror(failure))); nothing was changed")
    }
  }
}

/// What keeps the relay from doing something, in words for its operator: what, where, and what to do.
struct RelayError: Error, Sendable, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
