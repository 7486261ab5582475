import Clocks
import EventLog
import Observability

/// The files that keep ids over a restart: `*.ids` in a directory of their own, appended to and removed as a whole.
///
/// A record that a crash tore is skipped when it is read, and so is one whose checksum is wrong. After a failure the next
/// records go into a new file. Not thread-safe; blocks on the disk.
final class IDJournal {
  let directory: String
  let disk: any Disk
  var plan: JournalPlan
  let clock: WallClock
  let logger: Logger
  /// In the order of their numbers.
  var files: [JournalFile] = []
  /// The last of them, open; nil until something is written.
  private var open: (any DiskFile)?
  var lastNumber = 0
  /// The last file may be written on.
  var mayGoOn = true

  init(directory: String, plan: JournalPlan, disk: any Disk, clock: WallClock, logger: Logger) {
    self.directory = directory
    self.plan = plan
    self.disk = disk
    self.clock = clock
    self.logger = logger
  }

  func path(_ file: JournalFile) -> String { "\(directory)/\(file.name)" }

  /// Writes records behind the others and syncs them.
  /// - Throws: then none of them counts, and they are to be written again.
  func append(_ records: [IDRecord]) throws(DiskError) {
    guard !records.isEmpty else { return }
    do throws(DiskError) {
      let file = try writable()
      let at = files[files.count - 1].end
      let result = IDRecord.bytes(of: records).withUnsafeBytes { bytes in
        Result { () throws(DiskError) in try file.write(bytes, at: at) }
      }
      try result.get()
      try file.syncData()
      files[files.count - 1].add(records)
    } catch {
      // What a failed sync left of it nobody knows: nothing is written behind it.
      open = nil
      mayGoOn = false
      throw error
    }
  }

  /// The file to write to, a new one when the last is full.
  private func writable() throws(DiskError) -> any DiskFile {
    if let last = files.last, mayGoOn, !plan.isFull(last, at: clock.now) {
      if let open { return open }
      let file = try disk.open(path(last), .readWrite)
      open = file
      return file
    }
    try disk.makeDirectory(directory)
    let next = JournalFile(number: lastNumber + 1)
    let file = try disk.open(path(next), .create)
    let result = JournalFile.head.withUnsafeBytes { bytes in
      Result { () throws(DiskError) in try file.write(bytes, at: 0) }
    }
    try result.get()
    try file.syncData()
    try disk.syncDirectory(directory)
    lastNumber = next.number
    files.append(next)
    open = file
    mayGoOn = true
    removeUnneeded()
    return file
  }

  /// Removes files that nobody needs any more. One that can't be is tried again with the next.
  func removeUnneeded() {
    for file in plan.unneeded(files, at: clock.now) { remove(file) }
  }

  func remove(_ file: JournalFile) {
    do throws(DiskError) {
      try disk.unlink(path(file))
    } catch {
      guard error.isMissing else {
        logger.warning("a file of old event ids can't be removed", ["why": .text(error.description)])
        return
      }
    }
    files.removeAll { $0.number == file.number }
  }
}
