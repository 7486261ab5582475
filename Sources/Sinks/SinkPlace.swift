import Glibc

/// Looks whether a sink could write where it is told to. Makes nothing, changes nothing.
public enum SinkPlace {
  /// What keeps a path's directory from being made or written, and what would be right.
  public static func fault(_ path: String) -> String? {
    // What has a field in it is made as events come.
    var directory = String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
    if let field = directory.firstIndex(of: "%") {
      directory = String(directory[..<(directory[..<field].lastIndex(of: "/") ?? directory.startIndex)])
    }
    if directory.isEmpty { directory = "/" }
    while true {
      var facts = stat()
      if stat(directory, &facts) == 0 {
        guard facts.st_mode & S_IFMT == S_IFDIR else {
          return "\(directory) is no directory: move it away, or choose another path"
        }
        return access(directory, W_OK | X_OK) == 0 ? nil : cannotWrite(directory, errno)
      }
      let code = errno
      guard code == ENOENT || code == ENOTDIR, directory != "/" else { return cannotWrite(directory, code) }
      directory = String(directory[..<(directory.lastIndex(of: "/") ?? directory.startIndex)])
      if directory.isEmpty { directory = "/" }
    }
  }

  private static func cannotWrite(_ directory: String, _ code: Int32) -> String {
    let why = String(cString: strerror(code))
    let advice =
      code == EROFS
      ? "mount it writable, or choose another path"
      : "give the relay's user the right to do so, or choose another path (looked at as user id \(geteuid()))"
    return "\(directory) can't be written: \(why); \(advice)"
  }
}
