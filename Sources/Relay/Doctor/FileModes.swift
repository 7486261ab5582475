import Glibc

/// Whether others than the relay's user can read or change what it keeps: files are made 0600, directories 0700.
struct FileModes {
  /// Entries that are looked at, and no more.
  static let entriesMax = 100_000
  static let shownMax = 3

  private(set) var entries = 0
  private(set) var open: [String] = []
  private(set) var openCount = 0
  var isCut: Bool { entries >= Self.entriesMax }

  /// Goes through what is in a directory. The directory itself may be listed by others, and not be written.
  init(below path: String) {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & 0o022 != 0 { note(path, status.st_mode) }
    walk(path)
  }

  private mutating func walk(_ path: String) {
    guard let directory = opendir(path) else { return }
    defer { closedir(directory) }
    while !isCut, let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard name != ".", name != ".." else { continue }
      let child = "\(path)/\(name)"
      var status = stat()
      guard lstat(child, &status) == 0 else { continue }
      entries += 1
      let kind = status.st_mode & S_IFMT
      // A link's mode says nothing, and what is behind it is another's.
      guard kind == S_IFREG || kind == S_IFDIR else { continue }
      if status.st_mode & 0o077 != 0 { note(child, status.st_mode) }
      if kind == S_IFDIR { walk(child) }
    }
  }

  private mutating func note(_ path: String, _ mode: mode_t) {
    openCount += 1
    if open.count < Self.shownMax { open.append("\(path) (0\(String(mode & 0o777, radix: 8)))") }
  }

  func check(_ path: String) -> DoctorCheck {
    guard openCount > 0 else {
      return .ok("file modes", "\(entries) files and directories\(isCut ? ", the rest was not looked at" : "")")
    }
    return .wrong(
      "file modes",
      "others than the relay's user may use \(openCount) of the files, such as \(open.joined(separator: ", "))",
      "chmod -R go-rwx \(path)")
  }
}
