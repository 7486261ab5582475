import Clocks
import Observability

/// Looks at a log without changing it, in bounded memory; a relay may run on it meanwhile.
///
/// What the running relay is just writing shows as unfinished bytes, not as damage.
public struct LogInspection {
  private let directory: String
  private let disk: any Disk
  private let names = AppTable()
  private let isVerifying: Bool
  private var report: LogReport
  private var apps: [AppID: SegmentShare] = [:]
  /// The number after the last event that everybody had settled.
  private let settledThrough: UInt64

  /// What is in the log, by the segments' footers where they have one.
  ///
  /// - Parameter directory: the data directory, or its `log`.
  /// - Throws: ``LogError`` when there is no log, it can't be read, or a newer program wrote it.
  public static func inspect(_ directory: String) throws(LogError) -> LogReport {
    try run(directory, verify: false, disk: RealDisk()) { _, _ in }
  }

  /// Checks every checksum of the log.
  ///
  /// - Parameter progress: called after each segment with how many are done, and of how many.
  public static func verify(
    _ directory: String, progress: (_ done: Int, _ total: Int) -> Void = { _, _ in }
  ) throws(LogError) -> LogReport {
    try run(directory, verify: true, disk: RealDisk(), progress)
  }

  static func run(
    _ directory: String, verify: Bool, disk: any Disk, _ progress: (Int, Int) -> Void = { _, _ in }
  ) throws(LogError) -> LogReport {
    var inspection = LogInspection(try find(directory, disk), disk, verify: verify)
    try inspection.walk(progress)
    return inspection.report
  }

  private init(_ directory: String, _ disk: any Disk, verify: Bool) {
    self.directory = directory
    self.disk = disk
    isVerifying = verify
    settledThrough = RetainedMark.read(directory, disk)
    report = LogReport(directory: directory, formatVersion: Int(SegmentHeader.version), isVerified: verify)
  }

  /// The directory that holds the log's files. When every event is settled there may be no segment among them.
  private static func find(_ path: String, _ disk: any Disk) throws(LogError) -> String {
    let names = try asLogError { () throws(DiskError) in try disk.list(path) }
    if names.contains(where: isLogs) { return path }
    let inner = "\(path)/log"
    if let names = try? disk.list(inner), names.contains(where: isLogs) { return inner }
    throw LogError("there is no log in \(path): name the relay's data_dir, or the directory log in it")
  }

  private static func isLogs(_ name: String) -> Bool {
    SegmentName.number(ofSegment: name) != nil || SegmentName.number(ofSpare: name) != nil
  }

  private mutating func walk(_ progress: (Int, Int) -> Void) throws(LogError) {
    let files = try asLogError { () throws(DiskError) in try disk.list(directory) }
    var numbers: [UInt64] = []
    for name in files.sorted() {
      if let number = SegmentName.number(ofSegment: name) { numbers.append(number) }
      if SegmentName.number(ofSpare: name) != nil { report.spareFiles += 1 }
      if SegmentName.isTorn(name) || name.hasPrefix("damaged-") { report.filesSetAside.append(name) }
    }
    numbers.sort()
    var opening = LogOpening(
      directory: directory, disk: disk, names: names, logger: .silent, segmentSize: 0, sparesMax: 0, floor: 0,
      acceptedFloor: 0)
    opening.openMode = .read
    for (at, number) in numbers.enumerated() {
      let next = at + 1 < numbers.count ? try? opening.look(numbers[at + 1]) : nil
      try look(at: number, &opening, knownEnd: next?.header?.previousEnd, isLast: at == numbers.count - 1)
      progress(at + 1, numbers.count)
    }
    report.apps = apps.values.map(appReport).sorted { $0.name < $1.name }
  }

  private mutating func look(
    at number: UInt64, _ opening: inout LogOpening, knownEnd: UInt64?, isLast: Bool
  ) throws(LogError) {
    // A segment that was finished and freed while others were looked at is no fault.
    guard exists(number) else { return }
    let found = try opening.look(number)
    let name = SegmentName.segment(number)
    if found.header == nil { addDamage(name, 0, SegmentHeader.size, "the segment's header") }
    guard let header = found.header ?? opening.guessHeader(found) else {
      addDamage(
        name, SegmentHeader.size, found.size - SegmentHeader.size, "all of the segment: nothing in it can be told")
      return
    }
    let segment = Segment(header, path: found.path, fileSize: found.size)
    let trailer = found.trailer.flatMap { $0.life == header.life ? $0 : nil }
    let footer = trailer.flatMap { try? SegmentFooter.read(found.file, $0, names: names) }
    if trailer != nil && footer == nil { addDamage(name, trailer!.footerOffset, trailer!.footerLength, "the footer") }
    if let footer { segment.seal(footer: footer) }
    var recovery: SegmentRecovery?
    if isVerifying || footer == nil {
      let scan = try SegmentRecovery(
        found.file, header, end: trailer?.footerOffset ?? found.size, knownEnd: footer?.endSequence ?? knownEnd,
        floor: 0, names: names)
      // Recycled while it was read: then what was found is of two lives.
      guard try opening.look(number).header?.life == found.header?.life, exists(number) else { return }
      recovery = scan
      for damage in scan.damages {
        addDamage(name, damage.offset, damage.end - damage.offset, "a record", lost: damage.lost, app: damage.app)
      }
      if footer == nil {
        segment.directory = scan.directory
        segment.dataEnd = scan.dataEnd
        segment.endSequence = scan.endSequence
      } else {
        verifyLists(segment, found, name)
      }
    }
    let state: LogReport.SegmentReport.State = footer != nil ? .sealed : isLast ? .active : .withoutFooter
    add(segment, name, state, unfinished: recovery?.torn?.count ?? 0)
    opening.segments = [segment]
  }

  private func exists(_ number: UInt64) -> Bool {
    (try? disk.open("\(directory)/\(SegmentName.segment(number))", .read)) != nil
  }

  private mutating func verifyLists(_ segment: Segment, _ found: LogOpening.Found, _ name: String) {
    var entries: [DirectoryEntry] = []
    for share in segment.shares where share.frames > 0 {
      for chunk in 0...(share.frames - 1) / SegmentFooter.chunkEntries {
        let isWhole = try? SegmentFooter.readChunk(
          chunk, of: share, in: segment, footerOffset: segment.footerOffset, found.file, into: &entries)
        if isWhole != true {
          let offset = segment.footerOffset + share.listOffset + chunk * SegmentFooter.chunkSize
          addDamage(name, offset, SegmentFooter.chunkSize, "a part of the directory")
        }
      }
    }
  }

  private mutating func addDamage(
    _ file: String, _ offset: Int, _ bytes: Int, _ detail: String, lost: Range<UInt64> = 0..<0, app: String? = nil
  ) {
    report.damages.append(
      LogReport.DamageReport(
        file: file, offset: offset, bytes: bytes, detail: detail, lostSequences: lost.isEmpty ? nil : ClosedRange(lost),
        app: app))
  }

  private mutating func add(
    _ segment: Segment, _ name: String, _ state: LogReport.SegmentReport.State, unfinished: Int
  ) {
    let all = segment.share(of: .all)
    report.segments.append(
      LogReport.SegmentReport(
        file: name, number: segment.number, state: state, sizeBytes: segment.fileSize, dataBytes: segment.dataEnd,
        frames: all?.frames ?? 0, events: all?.events ?? 0, firstSequence: all?.first, lastSequence: all?.last,
        oldestReceivedAt: all?.receivedAt.earliestIfAny, newestReceivedAt: all?.receivedAt.latestIfAny,
        unfinishedBytes: unfinished, isRetained: state == .sealed && segment.endSequence <= settledThrough))
    for share in segment.allShares where share.app != .all && share.frames > 0 {
      guard var known = apps[share.app] else {
        apps[share.app] = share
        continue
      }
      known.frames += share.frames
      known.events += share.events
      known.last = share.last
      known.receivedAt.include(share.receivedAt)
      known.occurredAt.include(share.occurredAt)
      apps[share.app] = known
    }
  }

  private func appReport(_ share: SegmentShare) -> LogReport.AppReport {
    LogReport.AppReport(
      name: names.name(of: share.app), frames: share.frames, events: share.events, firstSequence: share.first,
      lastSequence: share.last, oldestReceivedAt: share.receivedAt.earliestIfAny,
      newestReceivedAt: share.receivedAt.latestIfAny, earliestOccurredAt: share.occurredAt.earliestIfAny,
      latestOccurredAt: share.occurredAt.latestIfAny)
  }
}

extension TimeRange {
  var earliestIfAny: Timestamp? { isEmpty ? nil : earliest }
  var latestIfAny: Timestamp? { isEmpty ? nil : latest }
}
