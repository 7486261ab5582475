extension ScalarFormat where Value == String {
  /// A path; a relative one is relative to `directory`. Absolute afterwards.
  static func path(relativeTo directory: String) -> ScalarFormat {
    ScalarFormat(noun: "a path, relative to the configuration file or absolute") { text throws(Misfit) in
      try PathText.check(text)
      return PathText.absolute(text, relativeTo: directory)
    }
  }

  /// The pattern of a file's path, with fields of the time in UTC.
  static func pathPattern(relativeTo directory: String) -> ScalarFormat {
    ScalarFormat(noun: "a file's path with the fields %Y, %m, %d, %H and %M, such as ./data/events/%Y/%m/%d/%H.ndjson")
    {
      text throws(Misfit) in
      try PathText.check(text)
      var rest = Substring(text)
      while let percent = rest.firstIndex(of: "%") {
        let field = rest[percent...].prefix(2)
        guard field.count == 2, "YmdHM".contains(field.last!) else {
          throw Misfit("holds the unknown field \(field)")
        }
        rest = rest[field.endIndex...]
      }
      guard !text.hasSuffix("/"), !text.hasSuffix("/.."), text != ".." else { throw Misfit("names no file") }
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

  /// The path from the root, without `.` and doubled slashes; `..` stays, since what it means is the file system's to say.
  static func absolute(_ path: String, relativeTo directory: String) -> String {
    let joined = path.hasPrefix("/") ? path : "\(directory)/\(path)"
    let parts = joined.split(separator: "/").filter { $0 != "." }
    return "/" + parts.joined(separator: "/")
  }

  /// The directory of a path.
  static func directory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}
