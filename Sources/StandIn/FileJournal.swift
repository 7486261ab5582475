import Glibc
import Observability

/// A journal in a file that is only ever appended to: `events.ndjson` in the data directory.
///
/// Written before each answer and not synced: it survives the process, not the machine. A last line without an end, as
/// a kill leaves it, is cut off at the next start.
final class FileJournal: Journal {
  let first: UInt64 = 0
  private(set) var next: UInt64 = 0
  private let path: String
  private let descriptor: Int32
  private let bytesMax: Int
  private var length = 0
  /// Where every so-many-th record begins.
  private var marks: [Int] = []
  private static let markEvery: UInt64 = 256
  private static let pieceBytes = 1 << 20

  init(directory: String, bytesMax: Int) throws(StandInError) {
    path = "\(directory)/events.ndjson"
    self.bytesMax = bytesMax
    try Self.makeDirectory(directory)
    descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Self.error("open", path) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      if errno != EWOULDBLOCK { throw Self.error("lock", path) }
      throw StandInError("\(path) is used by another process; stop that stand-in or give this one another directory")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private static func makeDirectory(_ path: String) throws(StandInError) {
    var part = ""
    for name in path.split(separator: "/", omittingEmptySubsequences: false) {
      part += part.isEmpty && name.isEmpty ? "/" : part.isEmpty || part == "/" ? "\(name)" : "/\(name)"
      guard !name.isEmpty else { continue }
      if mkdir(part, 0o700) != 0, errno != EEXIST { throw error("make", part) }
    }
  }

  private static func error(_ verb: String, _ path: String) -> StandInError {
    let code = errno
    let advice =
      switch code {
      case EACCES, EPERM: "; give this user the right to it, or use another directory"
      case ENOSPC, EDQUOT: "; make room on the disk"
      case EROFS: "; the file system is read-only, use another directory"
      case ENOTDIR: "; a part of the path is a file, use another directory"
      default: ""
      }
    return StandInError("can't \(verb) \(path): \(String(cString: strerror(code)))\(advice)")
  }

  // MARK: Reading

  /// Reads the file from its beginning. Lines that no stand-in wrote are counted as records and shown, and handed over
  /// like the others.
  ///
  /// - Parameter visit: gets each line, without its end and readable for 64 bytes past it.
  func load(logger: Logger, visit: (UnsafeRawBufferPointer) -> Void) throws(StandInError) {
    var piece = [UInt8](repeating: 0, count: Self.pieceBytes + 64)
    var filled = 0
    length = 0
    while true {
      if filled == piece.count - 64 { piece += [UInt8](repeating: 0, count: piece.count) }
      let count = piece.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress! + filled, $0.count - 64 - filled, off_t(length + filled))
      }
      guard count >= 0 else { throw Self.error("read", path) }
      filled += count
      let used = piece.withUnsafeBytes { take(lines: UnsafeRawBufferPointer(rebasing: $0[..<filled]), visit) }
      length += used
      piece.removeFirst(used)
      piece += [UInt8](repeating: 0, count: used)
      filled -= used
      if count == 0 { break }
    }
    guard filled > 0 else { return }
    logger.warning(
      "the last line of the stand-in's file has no end and is cut off", about: path, ["bytes": .integer(filled)])
    guard ftruncate(descriptor, off_t(length)) == 0 else { throw Self.error("cut", path) }
  }

  private func take(lines bytes: UnsafeRawBufferPointer, _ visit: (UnsafeRawBufferPointer) -> Void) -> Int {
    var start = 0
    while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
      mark(length + start)
      visit(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
      start = end + 1
    }
    return start
  }

  private func mark(_ offset: Int) {
    if next % Self.markEvery == 0 { marks.append(offset) }
    next += 1
  }

  func page(from sequence: UInt64, limit: Int, bytesMax: Int) throws(StandInError) -> JournalPage {
    var page = JournalPage(next: min(sequence, next))
    guard page.next < next else { return page }
    var at = page.next / Self.markEvery * Self.markEvery
    while at < next {
      let mark = Int(at / Self.markEvery)
      let end = mark + 1 < marks.count ? marks[mark + 1] : length
      let piece = try read(from: marks[mark], to: end)
      let hasRoom = piece.withUnsafeBytes { page.fill(from: $0, startingAt: at, limit: limit, bytesMax: bytesMax) }
      if !hasRoom { break }
      at += Self.markEvery
    }
    return page
  }

  private func read(from start: Int, to end: Int) throws(StandInError) -> [UInt8] {
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: end - start) { buffer, filled in
      while filled < end - start {
        let count = pread(descriptor, buffer.baseAddress! + filled, end - start - filled, off_t(start + filled))
        guard count > 0 else {
          failed = true
          return
        }
        filled += count
      }
    }
    if failed { throw Self.error("read", path) }
    return bytes
  }

  // MARK: Writing

  func append(_ lines: [UInt8], count: Int) throws(StandInError) {
    guard length + lines.count <= bytesMax else {
      throw StandInError("\(path) has reached its \(bytesMax) bytes; move it away")
    }
    var written = 0
    while written < lines.count {
      let sent = lines.withUnsafeBytes { write(descriptor, $0.baseAddress! + written, lines.count - written) }
      if sent < 0, errno == EINTR { continue }
      guard sent > 0 else {
        let error = Self.error("write", path)
        // What was written of it goes again; if that fails too, the next start finds a torn line or whole events.
        ftruncate(descriptor, off_t(length))
        throw error
      }
      written += sent
    }
    lines.withUnsafeBytes { bytes in
      var start = 0
      for _ in 0..<count {
        mark(length + start)
        start = (bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count - 1) + 1
      }
    }
    length += lines.count
  }
}
