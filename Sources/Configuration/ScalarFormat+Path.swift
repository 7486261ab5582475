import Glibc

extension ScalarFormat where Value == String {
  /// A path; a relative one is relative to `directory`. Absolute afterwards.
  public static func path(relativeTo directory: String) -> ScalarFormat {
    ScalarFormat(noun: "a path, relative to the configuration file or absolute") { text throws(Misfit) in
      try PathText.check(text)
      return PathText.absolute(text, relativeTo: directory)
    }
  }
}

/// Paths of the configuration.
enum PathText {
  static let bytesMax = 1024

  static func check(_ text: String) throws(Misfit) {
    guard !text.isEmpty else { throw Misfit("is empty") }
    guard text.utf8.count <= bytesMax else { throw Misfit("is longer than \(bytesMax) bytes") }
    guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F }) else {
      throw Misfit("holds a control character")
    }
    guard !text.hasPrefix("~") else {
      throw Misfit(
        "begins with ~, which is not expanded", hint: text.hasPrefix("~/") ? "${HOME}\(text.dropFirst())" : nil)
    }
  }

  /// The path from the root, without `.` and doubled slashes.
  ///
  /// `..` at the begin goes up from the directory, which holds no symbolic links; elsewhere it stays, since what it means
  /// is the file system's to say.
  static func absolute(_ path: String, relativeTo directory: String) -> String {
    let parts = path.split(separator: "/").filter { $0 != "." }
    guard !path.hasPrefix("/") else { return "/" + parts.joined(separator: "/") }
    var base = directory.split(separator: "/").filter { $0 != "." }
    let ups = base.contains("..") ? 0 : parts.prefix { $0 == ".." }.count
    base.removeLast(min(ups, base.count))
    return "/" + (base + parts.dropFirst(ups)).joined(separator: "/")
  }

  /// The directory a file lies in, absolute and without symbolic links if it is there.
  static func realDirectory(of file: String) -> String {
    let directory = directory(of: absolute(file, relativeTo: FileText.workingDirectory))
    guard let real = realpath(directory, nil) else { return directory }
    defer { free(real) }
    return String(cString: real)
  }

  /// The directory of a path.
  static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
