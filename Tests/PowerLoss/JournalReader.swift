/// Takes a journal's bytes apart; the form is in Tests/PowerLossShim/include/PowerLossShim.h.
struct JournalReader {
  private static let magic: UInt64 = 0x534C_5750
  private static let headSize = 48

  private let bytes: [UInt8]
  /// Where the next record begins.
  private(set) var at = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The next record; nil at the end, and where the last one isn't whole.
  mutating func next() throws -> JournalRecord? {
    guard at + Self.headSize <= bytes.count else { return nil }
    guard number(0, 4) == Self.magic else { throw JournalFault("no record begins here", at: at) }
    let length = Int(number(4, 4))
    guard length >= Self.headSize else { throw JournalFault("a record of \(length) bytes", at: at) }
    guard at + length <= bytes.count else { return nil }
    let record = try read(end: at + length)
    at += length
    return record
  }

  private func read(end: Int) throws -> JournalRecord {
    let file = FileIdentity(inode: number(16, 8), born: Int64(bitPattern: number(24, 8)))
    let value = number(32, 8)
    let path = at + Self.headSize..<at + Self.headSize + Int(number(12, 4))
    let other = path.upperBound..<path.upperBound + Int(number(40, 4))
    let data = other.upperBound..<max(end, other.upperBound)
    guard other.upperBound <= end else { throw JournalFault("a record's paths are longer than it is", at: at) }
    switch number(8, 4) {
    case 1: return .started
    case 2: return .created(file, path: text(path))
    case 3: return .madeDirectory(file, path: text(path))
    case 4: return .wrote(inode: file.inode, offset: Int(value), bytes: data)
    case 5:
      let count = data.reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) }
      return .zeroed(inode: file.inode, offset: Int(value), count: count)
    case 6: return .truncated(inode: file.inode, size: Int(value))
    case 7: return .allocated(inode: file.inode, size: Int(value))
    case 8: return .renamed(path: text(path), to: text(other))
    case 9: return .unlinked(path: text(path))
    case 10: return .removedDirectory(path: text(path))
    case 11: return .syncBegan(inode: file.inode, ticket: value)
    case 12: return .syncReturned(inode: file.inode, ticket: value)
    case 13: return .unsupported(text(path))
    case let kind: throw JournalFault("a record of the unknown kind \(kind)", at: at)
    }
  }

  private func number(_ offset: Int, _ size: Int) -> UInt64 {
    (0..<size).reversed().reduce(0) { $0 << 8 | UInt64(bytes[at + offset + $1]) }
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
}
