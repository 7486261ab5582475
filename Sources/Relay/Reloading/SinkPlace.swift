import Configuration
import Glibc

/// Looks whether a sink could write where it is told to, before anything is changed for it. Makes nothing.
enum SinkPlace {
  /// Why nothing can be written at a path, and what would help; nil when nothing speaks against it.
  ///
  /// - Parameter path: absolute; of a file, with `%` where its name depends on the time or an app; of a directory when it ends
  ///   in a slash.
  static func fault(_ path: String) -> String? {
    var directory = fixedDirectory(of: path)
    while true {
      var status = stat()
      if stat(directory, &status) == 0 {
        guard status.st_mode & S_IFMT == S_IFDIR else { return "\(directory) is no directory; name another path" }
        guard access(directory, W_OK | X_OK) == 0 else {
          return
            "\(directory) can't be written to (\(String(cString: strerror(errno)))); change its permissions, or name "
            + "another path"
        }
        return nil
      }
      let code = errno
      guard code == ENOENT, directory != "/" else {
        return "\(directory) can't be used: \(String(cString: strerror(code))); name another path"
      }
      directory = parent(of: directory)
    }
  }

  /// The directory above the first part of a path that isn't the same for all of a sink's files.
  static func fixedDirectory(of path: String) -> String {
    let fixed = path.prefix { $0 != "%" }
    guard let slash = fixed.lastIndex(of: "/"), slash != fixed.startIndex else { return "/" }
    return String(fixed[..<slash])
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
