import CPlatform
import Glibc

extension RecordFile {
  /// What was found where a mark says a file is.
  public enum Reopening {
    /// The file, cut back to the mark; `cut` bytes behind it were taken off.
    case continued(RecordFile, cut: Int)
    /// Under another name in the same directory: cut back to the mark and left alone.
    case renamed(to: String, cut: Int)
    /// Shorter than it was, or with other contents: somebody changed it, so it is left alone.
    case changed
    /// Neither under its name nor under another in its directory.
    case missing
  }

  /// Finds a file again by its mark, and cuts off what lies behind the mark: the committed lines stay, each once.
  ///
  /// A file that isn't the marked one is never changed.
  public static func reopen(_ mark: FileMark, on system: FileSystem = .system) throws(FileError) -> Reopening {
    let directory = FileSystem.parent(of: mark.path)
    var places = [mark.path]
    // A mark of an empty file that tells no more than its inode is no proof: that may be another file's by now.
    if mark.length > 0 || mark.born != 0 {
      places += try system.list(directory).map { directory == "/" ? "/\($0)" : "\(directory)/\($0)" }
    }
    for (index, path) in places.enumerated() where index == 0 || path != mark.path {
      // (Looked at before it is opened: another one of ours may have the inode by now, open and locked.)
      guard let facts = try system.facts(of: path), isMarked(facts, mark),
        isMarked(born: platform_birth_time_of(path), mark)
      else { continue }
      switch try open(mark, at: path, system) {
      case .marked(let file, let cut): return index == 0 ? .continued(file, cut: cut) : .renamed(to: path, cut: cut)
      case .changed: return .changed
      case .another: continue
      }
    }
    return .missing
  }

  private enum Opening {
    case marked(RecordFile, cut: Int)
    /// With other contents than it had.
    case changed
    /// It only has the marked one's inode, which was free again.
    case another
  }

  /// The device isn't asked: many file systems get another number each time the machine starts, and a file not cut back
  /// for that would have lines twice. The hash makes up for it.
  private static func isMarked(_ facts: FileFacts, _ mark: FileMark) -> Bool {
    facts.isRegular && facts.inode == mark.inode
  }

  private static func isMarked(born: Int64, _ mark: FileMark) -> Bool {
    mark.born == 0 || born == 0 || mark.born == born
  }

  /// Opens the file, makes sure that it is the marked one, and cuts it back.
  private static func open(_ mark: FileMark, at path: String, _ system: FileSystem) throws(FileError) -> Opening {
    let descriptor = try openLocked(path, O_RDWR | O_APPEND, system, .open)
    var moved = mark
    moved.path = path
    // From here on the descriptor is closed with the file.
    let file = RecordFile(path: path, descriptor: descriptor, mark: moved, system: system)
    let facts = try system.facts(of: descriptor, path: path)
    file.isNow(on: facts.device)
    let born = platform_birth_time(descriptor)
    guard isMarked(facts, mark), isMarked(born: born, mark) else { return .another }
    guard facts.length >= mark.length, try tail(of: descriptor, before: mark.length, path, system) == mark.tail else {
      return .changed
    }
    guard facts.length > mark.length else { return .marked(file, cut: 0) }
    // An empty mark's hash says nothing.
    if mark.length == 0, try !isUnsynced(descriptor, path, isBornThen: mark.born != 0 && born != 0, system) {
      return .changed
    }
    try file.cutToMark()
    return .marked(file, cut: facts.length - mark.length)
  }

  /// Makes a new file at `path`, or where that name is taken at the first free one of ``numbered(_:_:)``; its directory too.
  ///
  /// The file is empty, durable under its name, 0600, and nobody else's. Its owner commits its mark before appending: a
  /// crash in between leaves an empty file, which the next call takes.
  /// - Parameter number: the first number to try; 0 is `path` itself.
  /// - Returns: the file, and the number its name has.
  public static func create(
    _ path: String, from number: Int = 0, on system: FileSystem = .system
  ) throws(FileError) -> (file: RecordFile, number: Int) {
    try system.makeDirectories(FileSystem.parent(of: path))
    var number = number
    while true {
      let name = numbered(path, number)
      if let file = try createOne(name, system) {
        try system.syncDirectory(FileSystem.parent(of: name))
        return (file, number)
      }
      number += 1
    }
  }

  /// Nil when the name is taken.
  private static func createOne(_ path: String, _ system: FileSystem) throws(FileError) -> RecordFile? {
    let descriptor: Int32
    do throws(FileError) {
      descriptor = try openLocked(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, system, .create)
    } catch  where error.code == EEXIST {
      guard let facts = try system.facts(of: path), facts.isRegular, facts.length == 0 else { return nil }
      do throws(FileError) {
        descriptor = try openLocked(path, O_RDWR | O_APPEND, system, .open)
      } catch  where error.code == EWOULDBLOCK || error.code == EACCES {
        return nil
      }
    }
    let facts: FileFacts
    do throws(FileError) {
      facts = try system.facts(of: descriptor, path: path)
    } catch {
      close(descriptor)
      throw error
    }
    let mark = FileMark(
      path: path, device: facts.device, inode: facts.inode, length: 0, tail: emptyTail,
      born: platform_birth_time(descriptor))
    let file = RecordFile(path: path, descriptor: descriptor, mark: mark, system: system)
    return facts.length == 0 ? file : nil
  }

  private static func openLocked(
    _ path: String, _ flags: Int32, _ system: FileSystem, _ operation: FileError.Operation
  ) throws(FileError) -> Int32 {
    let descriptor = try system.call(operation, path) { Glibc.open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    do throws(FileError) {
      try system.call(.lock, path) { flock(descriptor, LOCK_EX | LOCK_NB) }
    } catch {
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Whether what a file of an empty mark holds is what was appended and not synced: records, or what a cut of power left of
  /// them.
  ///
  /// That may begin with zeros or garbage, since sectors reach the disk in any order. Text of another kind somebody else wrote.
  private static func isUnsynced(
    _ descriptor: Int32, _ path: String, isBornThen: Bool, _ system: FileSystem
  ) throws(FileError) -> Bool {
    var bytes = [UInt8](repeating: 0, count: RecordLines.opening.count)
    let count = try system.call(.read, path) { pread(descriptor, &bytes, bytes.count, 0) }
    if bytes[..<count] == RecordLines.opening[..<count] { return true }
    return isBornThen && bytes[..<count].contains { !isText($0) }
  }

  private static func isText(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: " ")...UInt8(ascii: "~"), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): true
    default: false
    }
  }

  /// The name of a path's n-th file: `a/12.ndjson`, `a/12.1.ndjson`, `a/12.2.ndjson` …; before `.gz` too, and behind a
  /// name without an extension.
  public static func numbered(_ path: String, _ number: Int) -> String {
    guard number > 0 else { return path }
    let (stem, ending) = split(path)
    return "\(stem).\(number)\(ending)"
  }

  /// A path before and from its extension on: `a/12` and `.ndjson`, `a/12` and `.ndjson.gz`.
  public static func split(_ path: String) -> (stem: String, ending: String) {
    let name = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
    var rest = path[name...]
    var ending = path.endIndex
    if rest.hasSuffix(".gz") {
      ending = path.utf8.index(path.endIndex, offsetBy: -3)
      rest = path[name..<ending]
    }
    if let dot = rest.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name { ending = dot }
    if ending == name { ending = path.endIndex }
    return (String(path[..<ending]), String(path[ending...]))
  }
}
