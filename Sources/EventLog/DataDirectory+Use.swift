import Glibc
import JSON

extension DataDirectory {
  /// Whether a relay runs in the directory. Changes nothing; false when there is no such directory.
  public static func isInUse(_ path: String) -> Bool {
    let descriptor = Glibc.open("\(path)/lock", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { Glibc.close(descriptor) }
    // The lock, when it is got, goes with the descriptor.
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }
}

extension DataDirectory {
  /// The instance's id of a directory that is only looked at; nil when there is none that can be read.
  public static func instanceID(in path: String) -> String? {
    guard let bytes = try? RealDisk().readWhole("\(path)/instance", limit: 4096) else { return nil }
    return (try? JSONValue(parsing: bytes))?["id"]?.string
  }
}
