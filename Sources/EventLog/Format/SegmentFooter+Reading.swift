import Clocks

extension SegmentFooter {
  /// The file's last bytes, which say where the footer stands and that the segment is sealed.
  struct Trailer: Equatable {
    var life: UInt64
    var footerOffset: Int
    var footerLength: Int

    func write(to start: UnsafeMutableRawPointer) {
      start.initializeMemory(as: UInt8.self, repeating: 0, count: trailerSize)
      start.put(trailerMagic, 0)
      start.put(version, 8)
      start.put(UInt16(trailerSize), 10)
      start.put(life, 16)
      start.put(UInt64(footerOffset), 24)
      start.put(UInt64(footerLength), 32)
      start.put(Self.checksum(UnsafeRawPointer(start)), 12)
    }

    /// Whether the footer lies where one can in a file of so many bytes.
    func fits(_ fileSize: Int) -> Bool {
      footerOffset >= SegmentHeader.size && footerOffset <= fileSize - trailerSize
        && footerLength <= fileSize - trailerSize - footerOffset
    }

    private static func checksum(_ start: UnsafeRawPointer) -> UInt32 {
      crc32c(start + 16, trailerSize - 16, from: crc32c(start, 12))
    }

    enum Reading: Equatable {
      case trailer(Trailer)
      case newer(version: Int)
      case none
    }

    static func read(_ start: UnsafeRawPointer) -> Reading {
      guard start.number(0, as: UInt64.self) == trailerMagic, start.number(12, as: UInt32.self) == checksum(start)
      else {
        return .none
      }
      let version = start.number(8, as: UInt16.self)
      guard version <= SegmentFooter.version else { return .newer(version: Int(version)) }
      guard let offset = Int(exactly: start.number(24, as: UInt64.self)),
        let length = Int(exactly: start.number(32, as: UInt64.self)), offset >= 0, length >= headSize
      else { return .none }
      return .trailer(Trailer(life: start.number(16), footerOffset: offset, footerLength: length))
    }
  }

  /// Reads the table of apps of a sealed segment; nil when it is damaged. The lists are left where they are.
  static func read(_ file: any DiskFile, _ trailer: Trailer, names: AppTable) throws(DiskError) -> SegmentFooter? {
    var head = [UInt8](repeating: 0, count: headSize)
    guard try file.readBytes(into: &head, at: trailer.footerOffset) == headSize else { return nil }
    let rowCount = Int(head.number(48, as: UInt32.self))
    guard head.number(0, as: UInt64.self) == magic, rowCount > 0, rowCount <= rowsMax,
      headSize + rowCount * rowSize <= trailer.footerLength
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: headSize + rowCount * rowSize)
    guard try file.readBytes(into: &bytes, at: trailer.footerOffset) == bytes.count else { return nil }
    let isWhole = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress!.number(12, as: UInt32.self)
        == crc32c(bytes.baseAddress! + 16, bytes.count - 16, from: crc32c(bytes.baseAddress!, 12))
    }
    guard isWhole, head.number(16, as: UInt64.self) == trailer.life else { return nil }
    let footer = bytes.withUnsafeBytes { bytes in
      let start = bytes.baseAddress!
      return SegmentFooter(
        life: trailer.life, firstSequence: start.number(24), endSequence: start.number(32),
        dataEnd: Int(clamping: start.number(40, as: UInt64.self)), offset: trailer.footerOffset,
        rows: (0..<rowCount).map { row(start + headSize + $0 * rowSize, names) },
        createdAt: Timestamp(milliseconds: start.number(56)))
    }
    return footer.isPlausible(trailer) ? footer : nil
  }

  private func isPlausible(_ trailer: Trailer) -> Bool {
    guard Plausible.isSequence(endSequence), firstSequence <= endSequence,
      endSequence - firstSequence <= Plausible.spanMax, createdAt.isPlausible,
      (SegmentHeader.size...trailer.footerOffset).contains(dataEnd)
    else { return false }
    // The first row is all apps together, and has what the others have.
    guard let all = rows.first, all.kind == .all, rows.dropFirst().allSatisfy({ $0.kind != .all }),
      rows.dropFirst().reduce(0, { $0 + $1.share.frames }) == all.share.frames,
      rows.dropFirst().reduce(0, { $0 + $1.share.events }) == all.share.events
    else { return false }
    return rows.allSatisfy { row in
      let share = row.share
      guard share.frames > 0 else { return true }
      return share.frames <= share.events && share.first >= firstSequence && share.first <= share.last
        && share.last < endSequence && UInt64(share.events) <= share.last - share.first + 1
        && share.listOffset + Self.listSize(share.frames) <= trailer.footerLength
        && share.receivedAt.isPlausible && share.occurredAt.isPlausible
    }
  }

  private static func row(_ row: UnsafeRawPointer, _ names: AppTable) -> Row {
    let kind = Row.Kind(rawValue: row.number(62)) ?? .unknown
    let length = min(Int(row.number(60, as: UInt16.self)), FrameHeader.appLengthMax)
    let name = String(decoding: UnsafeRawBufferPointer(start: row + 64, count: length), as: UTF8.self)
    let app: AppID = kind == .all ? .all : kind == .unknown ? .unknown : names.id(of: name)
    var share = SegmentShare(app: app)
    share.frames = Int(row.number(0, as: UInt32.self))
    share.events = Int(row.number(4, as: UInt32.self))
    share.first = row.number(8)
    share.last = row.number(16)
    share.occurredAt.earliest = Timestamp(milliseconds: row.number(24))
    share.occurredAt.latest = Timestamp(milliseconds: row.number(32))
    share.receivedAt.earliest = Timestamp(milliseconds: row.number(40))
    share.receivedAt.latest = Timestamp(milliseconds: row.number(48))
    share.listOffset = Int(row.number(56, as: UInt32.self))
    return Row(kind: kind, name: name, share: share)
  }

  /// Reads one chunk of a list into `entries`; false when it is damaged.
  static func readChunk(
    _ chunk: Int, of share: SegmentShare, in segment: Segment, footerOffset: Int, _ file: any DiskFile,
    into entries: inout [DirectoryEntry]
  ) throws(DiskError) -> Bool {
    let count = min(chunkEntries, share.frames - chunk * chunkEntries)
    entries.removeAll(keepingCapacity: true)
    guard count > 0 else { return true }
    var result: Result<Bool, DiskError> = .success(false)
    withUnsafeTemporaryAllocation(byteCount: chunkSize, alignment: 16) { buffer in
      let size = count * DirectoryEntry.size
      let bytes = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(size + chunkCRCSize)])
      do throws(DiskError) {
        let read = try file.read(into: bytes, at: footerOffset + share.listOffset + chunk * chunkSize)
        let start = UnsafeRawPointer(bytes.baseAddress!)
        guard read == bytes.count, start.number(size, as: UInt32.self) == crc32c(start, size) else { return }
        for i in 0..<count { entries.append(DirectoryEntry(start + i * DirectoryEntry.size)) }
        result = .success(entries.allSatisfy { $0.isPlausible(in: segment, of: share, footerOffset: footerOffset) })
      } catch {
        result = .failure(error)
      }
    }
    return try result.get()
  }
}

extension DiskFile {
  /// Fills an array from an offset on; returns how many bytes there were.
  func readBytes(into array: inout [UInt8], at offset: Int) throws(DiskError) -> Int {
    let result = array.withUnsafeMutableBytes { bytes in
      Result { () throws(DiskError) in try read(into: bytes, at: offset) }
    }
    return try result.get()
  }

  func writeBytes(_ array: [UInt8], at offset: Int) throws(DiskError) {
    let result = array.withUnsafeBytes { bytes in
      Result { () throws(DiskError) in try write(bytes, at: offset) }
    }
    try result.get()
  }
}

extension [UInt8] {
  func number<I: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: I.Type = I.self) -> I {
    withUnsafeBytes { $0.baseAddress!.number(offset, as: type) }
  }
}
