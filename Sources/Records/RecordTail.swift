import CPlatform
import Glibc

/// The whole lines of records that stand in a file behind a mark.
public struct RecordTail: Sendable, Equatable {
  /// Their numbers, in the lines' order.
  public var sequences: [UInt64] = []
  /// The mark behind the last of them: what follows it is half a line, or none of ours.
  public var mark: FileMark
  /// The apps in the lines, where their relay was asked for.
  public private(set) var apps: Set<String> = []
  /// A line of another relay ended it.
  public private(set) var isForeign = false
  /// Nothing follows, or half a line.
  public private(set) var isWhole = true

  /// Bytes that are read at once; a longer line is none of ours.
  private static let chunkBytes = 4 << 20
  /// A record's number stands among its first bytes.
  private static let headBytesMax = 1024
  private static let numberName = Array(#","seq":"#.utf8)

  /// Reads what stands behind a mark. Nothing, when the file under the mark's name isn't the marked one.
  public static func read(behind mark: FileMark, on system: FileSystem = .system) throws(FileError) -> RecordTail {
    try read(behind: mark, head: nil, on: system)
  }

  /// - Parameter head: what each line's relay looks like; nil: any.
  private static func read(
    behind mark: FileMark, head: [UInt8]?, on system: FileSystem
  ) throws(FileError) -> RecordTail {
    var tail = RecordTail(mark: mark)
    guard let facts = try system.facts(of: mark.path), facts.isRegular, facts.inode == mark.inode,
      facts.length > mark.length
    else { return tail }
    let descriptor = try system.call(.open, mark.path) { open(mark.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    defer { close(descriptor) }
    let born = platform_birth_time(descriptor)
    guard mark.born == 0 || born == 0 || born == mark.born,
      try RecordFile.tail(of: descriptor, before: mark.length, mark.path, system) == mark.tail
    else { return tail }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunkBytes, alignment: 16)
    defer { buffer.deallocate() }
    while true {
      let count = try system.call(.read, mark.path) {
        pread(descriptor, buffer.baseAddress!, buffer.count, off_t(tail.mark.length))
      }
      let before = tail.mark.length
      tail.isWhole = tail.take(UnsafeRawBufferPointer(rebasing: buffer[..<count]), head)
      if tail.isWhole, tail.mark.length > before { continue }
      // (A longer line is none of ours.)
      if count == chunkBytes { tail.isWhole = false }
      break
    }
    if !tail.sequences.isEmpty {
      tail.mark.tail = try RecordFile.tail(of: descriptor, before: tail.mark.length, mark.path, system)
    }
    return tail
  }

  /// All the lines of a file that nobody has marked, up to the first one that isn't this relay's.
  public static func read(
    _ path: String, relay: String, on system: FileSystem = .system
  ) throws(FileError) -> RecordTail? {
    guard let facts = try system.facts(of: path), facts.isRegular else { return nil }
    return try read(
      behind: FileMark(
        path: path, device: facts.device, inode: facts.inode, length: 0, tail: RecordFile.emptyTail,
        born: platform_birth_time_of(path)),
      head: RecordLines.head(relay: relay), on: system)
  }

  /// Takes the whole lines at the beginning of some bytes; false at one that is no record's, or another relay's.
  private mutating func take(_ bytes: UnsafeRawBufferPointer, _ head: [UInt8]?) -> Bool {
    var lastApp: [UInt8] = []
    var start = 0
    while start < bytes.count, let end = memchr(bytes.baseAddress! + start, 10, bytes.count - start) {
      let length = end - UnsafeMutableRawPointer(mutating: bytes.baseAddress!) + 1
      let line = UnsafeRawBufferPointer(rebasing: bytes[start..<length])
      guard let number = Self.number(line) else { return false }
      if let head {
        guard let app = RecordLines.app(in: line, head: head) else {
          isForeign = true
          return false
        }
        if !app.elementsEqual(lastApp) {
          lastApp = Array(app)
          apps.insert(String(decoding: lastApp, as: UTF8.self))
        }
      }
      sequences.append(number)
      mark.length += length - start
      start = length
    }
    return true
  }

  /// The number in a line; nil when it is no record's.
  fileprivate static func number(_ line: UnsafeRawBufferPointer) -> UInt64? {
    guard RecordLines.eventRange(in: line) != nil else { return nil }
    var at = 0
    while at + numberName.count < min(line.count, headBytesMax) {
      if line[at] == numberName[0], line[at..<at + numberName.count].elementsEqual(numberName) {
        let digits = line[(at + numberName.count)...].prefix { $0 >= 0x30 && $0 <= 0x39 }
        return UInt64(String(decoding: digits, as: UTF8.self))
      }
      at += 1
    }
    return nil
  }
}

extension RecordFile {
  /// Bytes at a file's end among which its last line most often is.
  private static let lastLineBytes = 64 * 1024

  /// The number in the last whole line of a file; nil when it has no line of ours.
  public static func lastNumber(in path: String, on system: FileSystem = .system) throws(FileError) -> UInt64? {
    guard let facts = try system.facts(of: path), facts.isRegular, facts.length > 0 else { return nil }
    let descriptor = try system.call(.open, path) { Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) }
    defer { close(descriptor) }
    for count in [lastLineBytes, LineScanner.lineBytesMax * 2] {
      let length = min(count, facts.length)
      let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: length, alignment: 16)
      defer { bytes.deallocate() }
      let read = try system.call(.read, path) {
        pread(descriptor, bytes.baseAddress!, length, off_t(facts.length - length))
      }
      let text = UnsafeRawBufferPointer(rebasing: bytes[..<read])
      guard let end = text.lastIndex(of: UInt8(ascii: "\n")) else { continue }
      let start = text[..<end].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
      if start == 0, length < facts.length { continue }
      return RecordTail.number(UnsafeRawBufferPointer(rebasing: text[start...end]))
    }
    return nil
  }
}
