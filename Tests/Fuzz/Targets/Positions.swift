import Clocks
@testable import EventLog
import JSON
import Observability

@testable import Dedupe

/// A destination's positions. The first byte says whether the input is the record alone, whose first line is made for it, or
/// both lines.
@Sendable func checkPositions(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let hasHead = input.byte() & 1 == 0
  var content = Array(input.rest)
  if !hasHead {
    let crc = content.withUnsafeBytes { crc32c($0) }
    let head: JSONValue = [
      "format": .string(PositionRecord.format), "version": JSONValue(PositionRecord.version),
      "bytes": JSONValue(content.count), "crc32c": .string(hex(UInt64(crc), digits: 8)),
    ]
    content = head.utf8 + [0x0A] + content
  }
  guard case .record(let record) = PositionRecord.read(content, destination: "sink") else { return }
  guard case .record(let again) = PositionRecord.read(record.encoded, destination: "sink") else {
    throw BrokenPromise(description: "positions that are written can't be read")
  }
  try promise(again == record, "positions that are written are read otherwise")
  try checkOpening(content)
}

/// A log opens with any record, and is read from there.
private func checkOpening(_ content: [UInt8]) throws(BrokenPromise) {
  let disk = MemoryDisk(["/positions/sink.json": content])
  guard let log = openLog(disk) else { return }
  if let subscription = try? log.subscribe("sink", origin: .oldest) {
    _ = subscription.ledger
  }
  log.close()
  try promise(openLog(disk).map { $0.close() } != nil, "a log that was opened can't be opened again")
}

/// The journal beside a queue of events that are sent again, and the note of what is kept for replay alone.
@Sendable func checkReplayJournal(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  let disk = MemoryDisk(["/q/journal.json": Array(bytes), "/q/retained": Array(bytes)])
  let through = RetainedMark.read("/q", disk)
  if through > 0 {
    try promise((try? RetainedMark.write(through, "/q", disk)) != nil, "the note can't be written")
    try promise(RetainedMark.read("/q", disk) == through, "a note that is written is read otherwise")
  }
  guard let journal = try? ReplayJournal.read("/q", disk, .silent) else { return }
  try promise((try? journal.write("/q", disk)) != nil, "a journal can't be written")
  try promise(
    (try? ReplayJournal.read("/q", disk, .silent)) == journal, "a journal that is written is read otherwise")
  if let intent = journal.intent {
    for next in [0, intent.next, intent.next &+ 1, .max] {
      let stored = intent.stored(next: next)
      try promise(stored >= 0, "\(stored) events of a put are in the queue")
    }
  }
}

/// The files that keep event ids over a restart. The first byte says whether the checksums are put right.
@Sendable func checkIDs(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let isMended = input.byte() & 1 == 1
  var content = isMended ? JournalFile.head + Array(input.rest) : Array(input.rest)
  if isMended { mend(&content) }
  let disk = MemoryDisk(["/ids/\(JournalFile.name(1))": content])
  var records: [IDRecord] = []
  guard (try? journal(disk).load { records.append($0) }) != nil else { return }
  let new = IDRecord(.stored, EventKey(app: 1, idHigh: 2, idLow: 3), sequence: 4, body: 5, at: receivedAt)
  let written = journal(disk)
  var first: [IDRecord] = []
  guard (try? written.load { first.append($0) }) != nil else { return }
  try promise((try? written.append([new])) != nil, "an id can't be kept")
  var again: [IDRecord] = []
  guard (try? journal(disk).load { again.append($0) }) != nil else {
    throw BrokenPromise(description: "ids that were read can't be read again")
  }
  try promise(again.last == new, "an id that was kept is not there")
}

private func journal(_ disk: MemoryDisk) -> IDJournal {
  IDJournal(
    directory: "/ids", plan: JournalPlan(window: .seconds(3600), maxIDs: 1000), disk: disk,
    clock: WallClock { receivedAt }, logger: .silent)
}

private func mend(_ content: inout [UInt8]) {
  var at = JournalFile.headSize
  while at + IDRecord.size <= content.count {
    content.withUnsafeMutableBytes { bytes in
      let record = bytes.baseAddress! + at
      record.put(crc32c(UnsafeRawPointer(record + 4), IDRecord.size - 4), 0)
    }
    at += IDRecord.size
  }
}
