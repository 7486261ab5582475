import Clocks
import Observability

/// Finds out what a log directory holds, and mends what a crash or a disk left behind.
struct LogOpening {
  /// Torn writes kept aside, and bytes of each.
  static let tornFilesMax = 8
  static let tornBytesMax = 1 << 20
  /// What one round of the writer can have left torn.
  static let tornReachMax = 8 << 20

  let directory: String
  let disk: any Disk
  let names: AppTable
  let logger: Logger
  let segmentSize: Int
  let sparesMax: Int
  /// One more than the newest number that a position on disk names, and the log's count that goes with it.
  let floor: UInt64
  let acceptedFloor: UInt64
  /// How segments are opened: for reading alone where nothing may be changed.
  var openMode = DiskOpenMode.readWrite
  /// What a header that must be guessed says of its events.
  var holdsReplays = false
  /// See ``FileLogTuning/unsettledFrom``.
  var unsettledFrom: UInt64?

  // What is found.

  var segments: [Segment] = []
  var active: LogWriter.ActiveSegment?
  var spares: [SegmentFiles.Spare] = []
  var nextNumber: UInt64 = 1
  var nextSequence: UInt64 = 1
  var acceptedEvents: UInt64 = 0
  var corruptRecords = 0
  var tornWrites = 0
  var newestReceivedAt: Timestamp?
  /// Sealed segments that are in want of a footer.
  var unfooted: [LogWriter.ActiveSegment] = []
  /// Why nothing can be written, though what is there can be read.
  var failure: String?
  var tornFiles: [String] = []
  /// A sync failed before this start: the system may show bytes that the disk never got.
  var hasFailureSign = false
  /// The sizes in bytes of the segments that were set aside, now or earlier, by their numbers.
  var aside: [UInt64: Int] = [:]

  init(
    directory: String, disk: any Disk, names: AppTable, logger: Logger, segmentSize: Int, sparesMax: Int,
    floor: UInt64, acceptedFloor: UInt64
  ) {
    self.directory = directory
    self.disk = disk
    self.names = names
    self.logger = logger
    self.segmentSize = segmentSize
    self.sparesMax = sparesMax
    self.floor = floor
    self.acceptedFloor = acceptedFloor
  }

  struct Found {
    var number: UInt64
    var path: String
    var file: any DiskFile
    var size: Int
    var header: SegmentHeader?
    var trailer: SegmentFooter.Trailer?
  }

  mutating func run() throws(LogError) {
    let numbers = try sortFiles()
    var found: [Found] = []
    for number in numbers { found.append(try look(number)) }
    for at in found.indices {
      if found[at].header == nil { found[at].header = guessHeader(found[at]) }
      guard found[at].header != nil else {
        setAside(found[at])
        continue
      }
      let next = found[(at + 1)...].first { $0.header != nil }
      try take(found[at], knownEnd: next?.header?.previousEnd, isLast: at == found.count - 1)
    }
    let end = segments.last?.endSequence ?? 1
    // Numbers of events in a segment that can't be read at all aren't given again either.
    nextSequence = max(end + numbersSetAside(behind: segments.last?.number ?? 0), floor, 1)
    acceptedEvents = segments.last?.acceptedThrough ?? 0
    if nextSequence > end {
      acceptedEvents = max(acceptedEvents, acceptedFloor)
      if !segments.isEmpty { tellSkipped(end) }
    }
  }

  /// More than the events that the segments can have held that were set aside behind this one. (Whatever size segments
  /// have today, and however short such a file has become.)
  private func numbersSetAside(behind last: UInt64) -> UInt64 {
    aside.filter { $0.key > last }.values.reduce(0) { $0 + UInt64(max($1, segmentSize) / EventIndex.encodedSize) }
  }

  /// Sorts the directory's files by what they are, and removes what is of no use.
  private mutating func sortFiles() throws(LogError) -> [UInt64] {
    let names = try asLogError { () throws(DiskError) in try disk.list(directory) }
    var numbers: [UInt64] = []
    for name in names.sorted() {
      let path = "\(directory)/\(name)"
      if let number = SegmentName.number(ofSegment: name) {
        numbers.append(number)
        nextNumber = max(nextNumber, number + 1)
      } else if let number = SegmentName.number(ofSpare: name) {
        nextNumber = max(nextNumber, number + 1)
        if spares.count < sparesMax, (try? disk.open(path, .read).size()) == segmentSize {
          spares.append(SegmentFiles.Spare(number: number, path: path))
        } else {
          try? disk.unlink(path)
        }
      } else if SegmentName.number(ofFilling: name) != nil {
        try? disk.unlink(path)
      } else if name == SegmentName.failureSign {
        hasFailureSign = true
      } else if let number = SegmentName.number(ofAside: name) {
        aside[number] = (try? disk.open(path, .read).size()) ?? 0
        nextNumber = max(nextNumber, number + 1)
      } else if SegmentName.isTorn(name) {
        tornFiles.append(name)
      }
    }
    return numbers.sorted()
  }
}
