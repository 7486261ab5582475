import JSON
import Observability

/// Reads a data directory's positions and segments without changing a byte of them.
struct LogViewReader {
  let directory: String
  private let disk = RealDisk()

  init(_ dataDirectory: String) { directory = dataDirectory }

  private var positions: String { "\(directory)/positions" }

  func read() throws(LogError) -> LogView {
    var records: [PositionRecord] = []
    var unreadable: [String] = []
    for name in try names(in: positions).sorted() where name.hasSuffix(".json") {
      let destination = String(name.dropLast(5))
      guard PositionRecord.isName(destination) else { continue }
      do throws(LogError) {
        if let record = try record(of: destination) { records.append(record) }
      } catch {
        unreadable.append(error.description)
      }
    }
    // Before the log's segments: a put that is noted is looked for in its queue.
    var queues: [String: QueueView] = [:]
    for record in records { queues[record.destination] = try queue(of: record) }
    let catalog = try catalog("\(directory)/log", records, holdsReplays: false)
    return LogView(
      catalog: catalog,
      destinations: records.map { DestinationView(record: $0, catalog: catalog, queue: queues[$0.destination]) },
      unreadable: unreadable, directory: directory)
  }

  /// A destination's record; nil when there is none.
  func record(of destination: String) throws(LogError) -> PositionRecord? {
    try record("\(positions)/\(destination).json", destination)
  }

  private func record(_ path: String, _ destination: String) throws(LogError) -> PositionRecord? {
    let bytes: [UInt8]
    do throws(DiskError) {
      bytes = try disk.readWhole(path, limit: PositionStore.recordSizeMax)
    } catch {
      if error.isMissing { return nil }
      throw LogError(error)
    }
    switch PositionRecord.read(bytes, destination: destination) {
    case .record(let record): return record
    case .newer(let version):
      throw LogError(
        "\(path) has format version \(version), this program reads up to \(PositionRecord.version): use the newer "
          + "event-relay that wrote it")
    case .damaged:
      throw LogError(
        "\(path) is damaged: at the next start it is set aside, and the destination begins again with the oldest event "
          + "still kept; put the right file back before that, if there is one")
    }
  }

  // MARK: Replays

  private func queue(of record: PositionRecord) throws(LogError) -> QueueView? {
    let home = "\(directory)/replays/\(record.destination)"
    guard
      try names(in: "\(home)/log").contains(where: { SegmentName.number(ofSegment: $0) != nil })
        || record.replays != nil
    else { return nil }
    let name = ReplayQueue.recordName
    // The destination's record has the queue's along, which is never older than the queue's own.
    let along = record.replays.flatMap { PositionRecord($0, destination: name) }
    let own = along == nil ? try self.record("\(home)/positions/\(name).json", name) : nil
    guard let known = along ?? own else { return nil }
    var journal = ReplayJournal()
    if let bytes = try? disk.readWhole("\(home)/\(ReplayJournal.fileName)", limit: 64 << 20) {
      guard let read = (try? JSONValue(parsing: bytes)).flatMap({ ReplayJournal($0) }) else {
        throw LogError(
          "\(home)/\(ReplayJournal.fileName) can't be read: dead letters that were put back would be counted anew")
      }
      journal = read
    }
    let catalog = try catalog("\(home)/log", [known], holdsReplays: true)
    let next = catalog.monitor.withLock { catalog.publishedEnd }
    return QueueView(
      catalog: catalog, record: known, putBack: journal.putBack,
      unsettled: journal.intent?.stored(next: next) ?? 0)
  }

  // MARK: Segments

  /// What the segments of a log hold, by their footers, and by their frames where they have none.
  private func catalog(
    _ log: String, _ records: [PositionRecord], holdsReplays: Bool
  ) throws(LogError) -> SegmentCatalog {
    let names = AppTable()
    var opening = LogOpening(
      directory: log, disk: disk, names: names, logger: .silent, segmentSize: 0, sparesMax: 0, floor: 0,
      acceptedFloor: 0)
    opening.openMode = .read
    opening.holdsReplays = holdsReplays
    let numbers = try self.names(in: log).compactMap { SegmentName.number(ofSegment: $0) }.sorted()
    for (at, number) in numbers.enumerated() {
      let next = at + 1 < numbers.count ? try? opening.look(numbers[at + 1]) : nil
      guard let segment = try segment(number, opening, knownEnd: next?.header?.previousEnd) else { continue }
      opening.segments.append(segment)
    }
    let last = opening.segments.last
    return SegmentCatalog(
      directory: log, disk: disk, names: names, logger: .silent, segments: opening.segments,
      publishedEnd: last?.endSequence ?? max(1, records.map(\.through).max() ?? 1),
      acceptedEvents: last?.acceptedThrough ?? records.map(\.logAccepted).max() ?? 0)
  }

  /// Nil for one that has gone meanwhile, or of which nothing can be told.
  private func segment(
    _ number: UInt64, _ opening: LogOpening, knownEnd: UInt64?
  ) throws(LogError) -> Segment? {
    let found: LogOpening.Found
    do throws(LogError) {
      found = try opening.look(number)
    } catch {
      let path = "\(opening.directory)/\(SegmentName.segment(number))"
      do throws(DiskError) { _ = try disk.open(path, .read) } catch { if error.isMissing { return nil } }
      throw error
    }
    guard let header = found.header ?? opening.guessHeader(found) else { return nil }
    let segment = Segment(header, path: found.path, fileSize: found.size)
    let trailer = found.trailer.flatMap { $0.life == header.life ? $0 : nil }
    if let trailer, let footer = try? SegmentFooter.read(found.file, trailer, names: opening.names) {
      segment.seal(footer: footer)
      return segment
    }
    let recovery = try SegmentRecovery(
      found.file, header, end: trailer?.footerOffset ?? found.size, knownEnd: knownEnd, floor: 0, names: opening.names)
    segment.directory = recovery.directory
    segment.dataEnd = sectorAligned(recovery.dataEnd)
    segment.endSequence = recovery.endSequence
    return segment
  }

  private func names(in path: String) throws(LogError) -> [String] {
    do throws(DiskError) {
      return try disk.list(path)
    } catch {
      if error.isMissing { return [] }
      throw LogError(error)
    }
  }
}
