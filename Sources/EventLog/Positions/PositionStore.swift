import Clocks
import Observability

/// The directory with one record per destination.
struct PositionStore {
  /// Larger records are damage.
  static let recordSizeMax = 256 * 1024 * 1024
  /// Damaged records that are kept aside, per destination.
  static let asideMax = 4

  let directory: String
  let disk: any Disk
  let logger: Logger

  /// What is found of a destination at start.
  enum Found {
    case record(PositionRecord)
    /// The record was damaged and lies aside now: the destination begins again.
    case damaged
    /// There is one that can't be read now: its destination can't be opened, but what it is owed is held.
    case unreadable(LogError)
  }

  func path(of destination: String) -> String { "\(directory)/\(destination).json" }

  /// Reads every record; leftovers of writes that never ended are removed.
  func readAll() throws(LogError) -> [(destination: String, Found)] {
    let names = try asLogError { () throws(DiskError) in try disk.list(directory) }
    var out: [(destination: String, Found)] = []
    for name in names.sorted() {
      if name.hasSuffix(".tmp") {
        try? disk.unlink("\(directory)/\(name)")
      } else if name.hasSuffix(".json"), PositionRecord.isName(String(name.dropLast(5))) {
        let destination = String(name.dropLast(5))
        out.append((destination, read(destination, all: names)))
      }
    }
    return out
  }

  private func read(_ destination: String, all names: [String]) -> Found {
    let path = path(of: destination)
    let bytes: [UInt8]
    do throws(DiskError) {
      bytes = try disk.readWhole(path, limit: Self.recordSizeMax)
    } catch {
      return .unreadable(LogError("the positions of destination \(destination) can't be read: \(error)"))
    }
    switch PositionRecord.read(bytes, destination: destination) {
    case .record(let record): return .record(record)
    case .newer(let version):
      return .unreadable(
        LogError(
          "\(path) has format version \(version), this program reads up to \(PositionRecord.version): use the newer "
            + "event-relay that wrote it"))
    case .damaged: return setAside(destination, names, bytes)
    }
  }

  /// Keeps a copy of a damaged record. The record itself stays until the new one takes its place: a crash in between must not
  /// make the destination look like one that was never there.
  private func setAside(_ destination: String, _ names: [String], _ bytes: [UInt8]) -> Found {
    let path = path(of: destination)
    var aside = "\(destination).json.damaged-1"
    for number in 1...Self.asideMax {
      aside = "\(destination).json.damaged-\(number)"
      if !names.contains(aside) { break }
    }
    do throws(DiskError) {
      try disk.replace("\(directory)/\(aside)", in: directory, with: bytes)
    } catch {
      return .unreadable(LogError("\(path) is damaged and can't be set aside: \(error)"))
    }
    logger.error(
      "positions are damaged: the destination begins again with the oldest event still kept, and its counts with it",
      about: destination, ["kept_as": .text("\(directory)/\(aside)")])
    return .damaged
  }

  /// Writes a destination's record in one atomic step.
  func write(_ record: PositionRecord) throws(DiskError) {
    try disk.replace(path(of: record.destination), in: directory, with: record.encoded)
  }

  func remove(_ destination: String) throws(DiskError) {
    do throws(DiskError) {
      try disk.unlink(path(of: destination))
    } catch {
      if !error.isMissing { throw error }
    }
    try disk.syncDirectory(directory)
  }
}
