import PowerLoss
import TestSupport

/// Builds a journal's bytes by hand, as the shim writes them.
struct JournalBytes {
  private(set) var bytes: [UInt8] = []
  private var ticket: UInt64 = 0

  mutating func add(
    _ kind: UInt64, inode: UInt64 = 0, number: UInt64 = 0, path: String = "", other: String = "", data: [UInt8] = []
  ) {
    let tail = Array(path.utf8) + Array(other.utf8) + data
    put(0x534C_5750, 4)
    put(UInt64(48 + tail.count), 4)
    put(kind, 4)
    put(UInt64(path.utf8.count), 4)
    put(inode, 8)
    put(inode * 10, 8)
    put(number, 8)
    put(UInt64(other.utf8.count), 4)
    put(0, 4)
    bytes += tail
  }

  mutating func create(_ path: String, _ inode: UInt64) { add(2, inode: inode, path: path) }
  mutating func makeDirectory(_ path: String, _ inode: UInt64) { add(3, inode: inode, path: path) }
  mutating func write(_ inode: UInt64, at offset: UInt64, _ data: [UInt8]) {
    add(4, inode: inode, number: offset, data: data)
  }
  mutating func write(_ inode: UInt64, at offset: UInt64 = 0, _ text: String) {
    write(inode, at: offset, Array(text.utf8))
  }
  mutating func truncate(_ inode: UInt64, to size: UInt64) { add(6, inode: inode, number: size) }
  mutating func rename(_ path: String, to other: String, _ inode: UInt64) {
    add(8, inode: inode, path: path, other: other)
  }
  mutating func unlink(_ path: String, _ inode: UInt64) { add(9, inode: inode, path: path) }

  mutating func sync(_ inode: UInt64) { endSync(inode, beginSync(inode)) }
  mutating func beginSync(_ inode: UInt64) -> UInt64 {
    ticket += 1
    add(11, inode: inode, number: ticket)
    return ticket
  }
  mutating func endSync(_ inode: UInt64, _ ticket: UInt64) { add(12, inode: inode, number: ticket) }

  private mutating func put(_ number: UInt64, _ size: Int) {
    for at in 0..<size { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * at))) }
  }

  /// The root's inode in these journals.
  static let root: UInt64 = 1

  /// The history of all of it.
  func history() throws -> DiskHistory {
    let journal = try Journal(bytes)
    var history = DiskHistory(journal, from: DiskImage(root: FileIdentity(inode: Self.root, born: 0)))
    try history.advance(to: journal.records.count)
    return history
  }

  /// All that comes of many cuts at its end.
  func outcomes(
    _ names: PowerCut.Names = .anySubset, cuts: Int = 400, torn: Int = 50, garbage: Int = 0, wholeSectors: Bool = false
  ) throws -> [DiskImage] {
    let history = try history()
    return (0..<cuts).map { number in
      var random = SeededGenerator(seed: UInt64(number))
      let cut = PowerCut(names: names, kept: [0, 30, 70, 100][number % 4], torn: torn, garbage: garbage)
      return cut.image(of: history, &random) { _ in wholeSectors }.image
    }
  }
}

extension DiskImage {
  /// A file's contents as text; nil when it isn't there.
  func text(_ path: String) -> String? { self[path].map { String(decoding: $0, as: UTF8.self) } }
}
