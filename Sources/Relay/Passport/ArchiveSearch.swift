import Archive
import Dialects

/// Looks for an event's id in an archive's published files, within a bound of time.
///
/// Files that hold numbers which are known to be the event's come first, then all others, the newest first in groups. The
/// lines are inflated and not parsed.
struct ArchiveSearch {
  /// How far it came.
  struct Extent: Equatable {
    var files = 0
    /// Files that there was no time for.
    var filesLeft = 0
  }

  /// Each group of files costs one reading of the manifest.
  private static let groups = 16
  private static let patience = 256

  let reader: ArchiveReader
  let id: SoughtID
  let deadline: ContinuousClock.Instant
  private(set) var records: [ArchivedRecord] = []
  private(set) var extent = Extent()

  init(_ directory: String, _ id: SoughtID, until deadline: ContinuousClock.Instant)
    throws(ArchiveError)
  {
    reader = try ArchiveReader(directory: directory)
    self.id = id
    self.deadline = deadline
  }

  /// - Parameter known: numbers of the event that were found elsewhere.
  mutating func run(known: [UInt64]) throws(ArchiveError) {
    var files: [ManifestFile] = []
    try reader.forEachFile { file, _ in
      files.append(file)
      return true
    }
    let likely = files.filter { file in known.contains { $0 >= file.firstSequence && $0 <= file.lastSequence } }
    let first = Set(likely.map(\.file))
    try search(likely)
    var rest = files.filter { !first.contains($0.file) }
    let size = max(16, rest.count / Self.groups)
    while !rest.isEmpty {
      try search(rest.suffix(size))
      rest.removeLast(min(size, rest.count))
    }
  }

  private mutating func search(_ files: some Collection<ManifestFile>) throws(ArchiveError) {
    guard let oldest = files.first else { return }
    guard ContinuousClock.now < deadline else {
      extent.filesLeft += files.count
      return
    }
    let wanted = Set(files.map(\.file))
    var found: [ArchivedRecord] = []
    var begun: Set<String> = []
    var lines = 0
    var isCut = false
    let (id, deadline) = (id, deadline)
    try reader.forEachLine(
      from: ArchivePlace(file: oldest.name.lines, line: 1), skippingFiles: { !wanted.contains($0.file) }
    ) {
      place, line in
      lines += 1
      if place.line == 1 { begun.insert(place.file) }
      if lines % Self.patience == 0, ContinuousClock.now >= deadline {
        isCut = true
        return false
      }
      guard id.occurs(in: line), let record = ArchivedRecord(line, place), record.eventID.map(id.isID) == true else {
        return true
      }
      found.append(record)
      return true
    }
    records += found.reversed()
    let done = isCut ? max(0, begun.count - 1) : files.count
    extent.files += done
    extent.filesLeft += files.count - done
  }
}
