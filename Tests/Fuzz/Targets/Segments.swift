import Clocks
import Observability
import Synchronization

@testable import EventLog

private let directory = "/log"

/// A log whose only segment holds these bytes.
///
/// It is opened, or refused with words; what it has can be read; it takes an event under a number that is free; and opened
/// again it has the same events and the new one.
@Sendable func checkSegment(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  var input = FuzzInput(bytes)
  let choice = input.byte()
  var image = SegmentImage(input.rest)
  if choice & 1 == 1 { image.mend(life: choice & 2 == 2) }
  let disk = MemoryDisk(["\(directory)/\(SegmentName.segment(1))": image.bytes])
  let report = try? LogInspection.run(directory, verify: true, disk: disk)
  if let report {
    try promise(report.events >= 0 && report.lostEvents >= 0, "an inspection counts less than nothing")
  }
  guard let log = openLog(disk) else { return }
  _ = try? log.subscribe("sink", origin: .oldest)
  let found = try events(log)
  let next = try append(log)
  if let next {
    try promise(found.last.map { $0.sequence < next } ?? true, "the number \(next) is given again")
  }
  log.close()
  let again = try promised(openLog(disk), "a log that was opened can't be opened again")
  defer { again.close() }
  let later = try events(again)
  try promise(Array(later.prefix(found.count)) == found, "a log that is opened again has other events")
  if let next {
    try promise(
      later.count == found.count + 1 && later.last?.sequence == next && later.last?.bytes == newEvent,
      "an event that was stored isn't there")
  }
}

private struct Found: Equatable {
  var sequence: UInt64
  var app: String
  var bytes: [UInt8]
}

private let newEvent = Array(#"{"name":"new"}"#.utf8)

func openLog(_ disk: MemoryDisk) -> FileLog? {
  var tuning = FileLogTuning(isInline: true, stagingSize: 64 * 1024)
  tuning.random = { 0x0123_4567_89AB_CDEF }
  return try? FileLog.open(
    directory: directory, positions: "/positions",
    configuration: FileLogConfiguration(
      segmentSize: 16384, maxSize: 1 << 20, minFreeDisk: 0), disk: disk,
    clock: WallClock { receivedAt }, logger: .silent, metrics: MetricsRegistry(), tuning: tuning)
}

/// Every event that can be read, each of them looked at.
private func events(_ log: FileLog) throws(BrokenPromise) -> [Found] {
  let batch = EventBatch(capacity: 1024)
  let scan = log.scan()
  var out: [Found] = []
  while (try? scan.read(ReadLimit(events: 100, bytes: 1 << 16), into: batch)) == true {
    for event in batch.events {
      try promise(
        event.offset >= 0 && event.offset + event.index.length <= batch.used, "an event ends behind what was read")
      try promise(
        event.envelope.lowerBound >= 0 && event.envelope.upperBound <= batch.used, "an envelope ends behind it")
      try promise(out.last.map { $0.sequence < event.sequence } ?? true, "numbers don't rise")
      out.append(Found(sequence: event.sequence, app: batch.app(of: event), bytes: Array(batch.bytes(of: event))))
    }
  }
  return out
}

/// Takes the outcome of an append.
private final class OutcomeBox: Sendable {
  private let outcome = Mutex<AppendOutcome?>(nil)

  var value: AppendOutcome? { outcome.withLock { $0 } }

  func set(_ value: AppendOutcome) { outcome.withLock { $0 = value } }
}

/// Appends an event; nil when the log takes none.
private func append(_ log: FileLog) throws(BrokenPromise) -> UInt64? {
  let box = OutcomeBox()
  let index = EventIndex(
    idHigh: 1, idLow: 2, installHash: 3, userHash: 0, length: newEvent.count, nameOffset: 1, occurredAtOffset: 0,
    occurredAt: receivedAt, flags: [])
  newEvent.withUnsafeBytes { body in
    [DraftEvent(index: index, offset: 0)].withUnsafeBufferPointer { events in
      log.append(FrameDraft(app: "fuzz", kind: .event, receivedAt: receivedAt, body: body, events: events)) {
        box.set($0)
      }
    }
  }
  log.syncInline()
  switch box.value {
  case .stored(let first): return first
  case nil: throw BrokenPromise(description: "nobody says what became of an event")
  default: return nil
  }
}
