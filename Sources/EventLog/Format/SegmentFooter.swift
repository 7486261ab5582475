import Clocks

/// What a sealed segment ends in: a table of the apps in it and the directory of each one's frames. See FORMAT.md.
struct SegmentFooter {
  static let magic: UInt64 = 0x5245_544F_4F46_5245  // "ERFOOTER"
  static let trailerMagic: UInt64 = 0x4445_4C41_4553_5245  // "ERSEALED"
  static let version: UInt16 = 1
  static let headSize = 64
  static let rowSize = 128
  static let trailerSize = 64
  /// A list is cut into chunks, each with its checksum, so that a reader holds one of them.
  static let chunkEntries = 204
  static let chunkCRCSize = 4
  static let chunkSize = chunkEntries * DirectoryEntry.size + chunkCRCSize
  static let rowsMax = 1 << 20

  var life: UInt64
  var firstSequence: UInt64
  var endSequence: UInt64
  /// Where the frames end.
  var dataEnd: Int
  /// Where the footer begins.
  var offset: Int
  /// All apps together, then each.
  var rows: [Row]
  /// When the segment was made.
  var createdAt: Timestamp

  struct Row: Equatable {
    enum Kind: UInt16 {
      case app = 0, all = 1, unknown = 2
    }
    var kind: Kind
    var name: String
    var share: SegmentShare
  }

  /// Bytes of a list of so many entries.
  static func listSize(_ entries: Int) -> Int {
    entries * DirectoryEntry.size + (entries + chunkEntries - 1) / chunkEntries * chunkCRCSize
  }

  /// The whole footer's bytes, without the trailer.
  static func encode(
    _ directory: MemoryDirectory, names: AppTable, life: UInt64, firstSequence: UInt64, endSequence: UInt64,
    dataEnd: Int, createdAt: Timestamp
  ) -> [UInt8] {
    let lists = [directory.all] + directory.apps
    let isShared = directory.apps.count <= 1
    var listOffset = headSize + lists.count * rowSize
    var offsets: [Int] = []
    for (at, list) in lists.enumerated() {
      if at > 0 && isShared {
        offsets.append(offsets[0])
      } else {
        offsets.append(listOffset)
        listOffset += listSize(list.entries.count)
      }
    }
    var out = [UInt8](repeating: 0, count: listOffset)
    out.withUnsafeMutableBytes { out in
      let start = out.baseAddress!
      for (at, list) in lists.enumerated() {
        write(list.share, names, listOffset: offsets[at], to: start + headSize + at * rowSize)
        if at == 0 || !isShared { write(list.entries, to: start + offsets[at]) }
      }
      start.put(magic, 0)
      start.put(version, 8)
      start.put(UInt16(headSize), 10)
      start.put(life, 16)
      start.put(firstSequence, 24)
      start.put(endSequence, 32)
      start.put(UInt64(dataEnd), 40)
      start.put(UInt32(lists.count), 48)
      start.put(createdAt.milliseconds, 56)
      start.put(checksum(UnsafeRawPointer(start), rows: lists.count), 12)
    }
    return out
  }

  private static func checksum(_ start: UnsafeRawPointer, rows: Int) -> UInt32 {
    crc32c(start + 16, headSize - 16 + rows * rowSize, from: crc32c(start, 12))
  }

  private static func write(_ share: SegmentShare, _ names: AppTable, listOffset: Int, to row: UnsafeMutableRawPointer)
  {
    row.put(UInt32(share.frames), 0)
    row.put(UInt32(share.events), 4)
    row.put(share.first, 8)
    row.put(share.last, 16)
    row.put(share.occurredAt.earliest.milliseconds, 24)
    row.put(share.occurredAt.latest.milliseconds, 32)
    row.put(share.receivedAt.earliest.milliseconds, 40)
    row.put(share.receivedAt.latest.milliseconds, 48)
    row.put(UInt32(listOffset), 56)
    let name = Array(names.name(of: share.app).utf8.prefix(FrameHeader.appLengthMax))
    row.put(UInt16(name.count), 60)
    let kind: Row.Kind = share.app == .all ? .all : share.app == .unknown ? .unknown : .app
    row.put(kind.rawValue, 62)
    for (at, byte) in name.enumerated() { row.put(byte, 64 + at) }
  }

  private static func write(_ entries: [DirectoryEntry], to list: UnsafeMutableRawPointer) {
    var at = 0
    var chunk = list
    while at < entries.count {
      let count = min(chunkEntries, entries.count - at)
      for i in 0..<count { entries[at + i].write(to: chunk + i * DirectoryEntry.size) }
      let bytes = count * DirectoryEntry.size
      chunk.put(crc32c(UnsafeRawPointer(chunk), bytes), bytes)
      chunk += bytes + chunkCRCSize
      at += count
    }
  }
}
