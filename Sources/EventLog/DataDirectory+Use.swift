import Glibc

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
