import CrashPoints
import Glibc
import JSON
import Synchronization

/// The directory a relay keeps everything in, locked against a second process, with the instance's id.
///
/// Holds the lock until ``close()`` or the end of its life.
public final class DataDirectory: Sendable {
  /// The version of the instance file this program writes, and the newest it reads.
  static let formatVersion = 1

  /// How long the directory may be another's before that counts as a relay.
  static let lockPatience: Duration = .seconds(1)

  public let path: String
  /// Names this data directory's relay in records: made once, 12 hex digits.
  public let instanceID: String
  private let lock: Mutex<Int32?>

  private init(path: String, instanceID: String, lock: Int32) {
    self.path = path
    self.instanceID = instanceID
    self.lock = Mutex(lock)
  }

  deinit { close() }

  /// Lets another process have the directory. Idempotent.
  public func close() {
    lock.withLock { lock in
      if let descriptor = lock { Glibc.close(descriptor) }
      lock = nil
    }
  }

  /// Makes the directory when it isn't there, locks it, and reads or makes the instance's id.
  ///
  /// - Throws: ``LogError`` when another relay uses it, when it can't be written, or when a newer program made it.
  public static func open(_ path: String) throws(LogError) -> DataDirectory {
    let disk = RealDisk()
    try asLogError { () throws(DiskError) in try disk.makeDirectory(path) }
    let descriptor = try takeLock(path)
    do throws(LogError) {
      try syncNames(path, disk)
      // (`??` would lose the error's type.)
      let known = try readInstanceID(path, disk)
      let instanceID = if let known { known } else { try makeInstanceID(path, disk) }
      return DataDirectory(path: path, instanceID: instanceID, lock: descriptor)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
  }

  /// Makes durable what a process that was killed had made, renamed or removed here and not synced: whatever is found from
  /// now on is gone by.
  private static func syncNames(_ path: String, _ disk: RealDisk) throws(LogError) {
    try asLogError { () throws(DiskError) in
      try disk.syncDirectory(path)
      for name in try disk.list(path) {
        do throws(DiskError) {
          try disk.syncDirectory("\(path)/\(name)")
        } catch {
          // (A file, or another's directory.)
          if error.operation == .sync { throw error }
        }
      }
    }
  }

  private static func takeLock(_ path: String) throws(LogError) -> Int32 {
    let file = "\(path)/lock"
    let descriptor = CrashPoint.around(.create, file) {
      Glibc.open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    }
    guard descriptor >= 0 else { throw LogError(DiskError(.open, file, code: errno)) }
    let began = ContinuousClock.now
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      if code == EINTR { continue }
      // A command that looks at the directory while no relay runs has it for a moment: no reason not to start.
      if code == EWOULDBLOCK, .now - began < lockPatience {
        usleep(20_000)
        continue
      }
      Glibc.close(descriptor)
      guard code == EWOULDBLOCK else { throw LogError(DiskError(.lock, file, code: code)) }
      throw LogError(
        "another event-relay uses the data directory \(path): stop it, or give this one a data_dir of its own")
    }
    return descriptor
  }

  private static func readInstanceID(_ path: String, _ disk: RealDisk) throws(LogError) -> String? {
    let file = "\(path)/instance"
    let bytes: [UInt8]
    do {
      bytes = try disk.readWhole(file, limit: 4096)
    } catch {
      if error.isMissing { return nil }
      throw LogError(error)
    }
    guard let record = try? JSONValue(parsing: bytes), let version: Int = record["version"]?.integer() else {
      throw LogError(
        "\(file) can't be read as the instance's id: put it back from a backup, or remove it and a new id is made "
          + "(records written from then on name another relay)")
    }
    guard version <= formatVersion else {
      throw LogError(
        "\(file) has format version \(version), this program reads up to \(formatVersion): use the newer event-relay "
          + "that made it, or another data_dir")
    }
    guard let id = record["id"]?.string, isInstanceID(id) else {
      throw LogError("\(file) holds no usable id: put it back from a backup, or remove it and a new id is made")
    }
    return id
  }

  private static func isInstanceID(_ id: String) -> Bool {
    !id.isEmpty && id.utf8.count <= 64 && id.utf8.allSatisfy { isNameByte($0) }
  }

  private static func makeInstanceID(_ path: String, _ disk: RealDisk) throws(LogError) -> String {
    var generator = SystemRandomNumberGenerator()
    let id = hex(generator.next() & 0xFFFF_FFFF_FFFF, digits: 12)
    let record: JSONValue = [
      "format": "event-relay-instance", "version": JSONValue(formatVersion), "id": .string(id),
    ]
    try asLogError { () throws(DiskError) in
      try disk.replace("\(path)/instance", in: path, with: record.utf8 + [UInt8(ascii: "\n")])
    }
    return id
  }
}

/// A number in lower-case hex, with leading zeros.
func hex(_ number: UInt64, digits: Int) -> String {
  let text = String(number, radix: 16)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}

/// Whether a byte may stand in a name that becomes a file's.
func isNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
    true
  default: false
  }
}
