import Clocks
import EventLog

extension IDJournal {
  /// Records that are read at once.
  private static let chunkRecords = 4096

  /// Reads every file, the oldest first, and hands out what its records say.
  ///
  /// - Throws: ``LogError`` when a file can't be read, or a newer program wrote it.
  func load(_ take: (IDRecord) -> Void) throws(LogError) {
    let names = try inLogsWords { () throws(DiskError) in
      do throws(DiskError) {
        return try disk.list(directory)
      } catch {
        // (It is made with the first file: a start must not need a disk with room.)
        guard error.isMissing else { throw error }
        return []
      }
    }
    files = []
    var damaged = 0
    for number in names.compactMap(JournalFile.number(ofName:)).sorted() {
      lastNumber = max(lastNumber, number)
      damaged += try read(JournalFile(number: number), take)
    }
    mayGoOn = !files.isEmpty
    if damaged > 0 {
      logger.info(
        "records of event ids were torn or damaged: what a crash tore is found again in the log", about: directory,
        ["records": .integer(damaged)])
    }
    removeUnneeded()
  }

  /// Reads one file; returns how many of its records are damaged.
  private func read(_ found: JournalFile, _ take: (IDRecord) -> Void) throws(LogError) -> Int {
    var file = found
    let path = path(file)
    let (open, size) = try inLogsWords { () throws(DiskError) in
      let open = try disk.open(path, .read)
      return (open, try open.size())
    }
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Self.chunkRecords * IDRecord.size, alignment: 16)
    defer { buffer.deallocate() }
    let headed = try inLogsWords { () throws(DiskError) in try open.read(into: buffer, at: 0) }
    switch JournalFile.head(of: UnsafeRawBufferPointer(rebasing: buffer[..<min(headed, JournalFile.headSize)])) {
    case .known: break
    case .newer(let version):
      throw LogError(
        "\(path) has format version \(version), this program reads up to \(JournalFile.version): use the newer "
          + "event-relay that wrote it, or remove \(directory) and have the ids in it forgotten")
    case .damaged:
      // One that was begun just when the relay ended holds nothing.
      if size > JournalFile.headSize {
        logger.warning(
          "a file of event ids has no readable head: it is removed, and its ids are forgotten", about: path)
      }
      files.append(file)
      remove(file)
      return 0
    }
    var damaged = 0
    let whole = max(0, size - JournalFile.headSize) / IDRecord.size
    while file.records < whole {
      let wanted = min(Self.chunkRecords, whole - file.records) * IDRecord.size
      let at = file.end
      let count = try inLogsWords { () throws(DiskError) in
        try open.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]), at: at)
      }
      guard count >= IDRecord.size else { break }
      for index in 0..<count / IDRecord.size {
        guard let record = IDRecord(UnsafeRawPointer(buffer.baseAddress!) + index * IDRecord.size) else {
          damaged += 1
          file.records += 1
          continue
        }
        file.add(record)
        take(record)
      }
    }
    files.append(file)
    return damaged
  }

  private func inLogsWords<Value>(_ body: () throws(DiskError) -> Value) throws(LogError) -> Value {
    do throws(DiskError) { return try body() } catch { throw LogError(error.description) }
  }
}
