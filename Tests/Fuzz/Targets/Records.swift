import Clocks
import Dialects
import EventLog
import EventsAPI
import JSON
import Records

@testable import Archive
@testable import Replay
@testable import StandIn

private nonisolated(unsafe) let parser = RecordParser()
private nonisolated(unsafe) let heads = RecordHeadReader()

/// A line of an archive or of the dead letters: what is read of it is in it, and is written again as the same record.
@Sendable func checkRecord(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  _ = LineHead.sequence(of: bytes)
  _ = LineHead.receivedMoment(of: bytes)
  _ = LineHead.isOf(relay: Array(#""r-1""#.utf8), bytes)
  guard let range = RecordLines.eventRange(in: bytes) else { return }
  try promise(range.lowerBound > 0 && range.upperBound < bytes.count, "an event's bytes are not in its line")
  guard let record = parser.parse(bytes) else { return }
  let event = UnsafeRawBufferPointer(rebasing: bytes[range])
  try promise(record.bytes.elementsEqual(event), "an event's bytes are not its line's")
  try promise(record.event.index.length == event.count, "an event has another length than its bytes")
  try promise(record.event.receivedAt.milliseconds != .min, "an event has no time")
  let lines = RecordLines(relay: record.relay ?? "")
  lines.append(record.event, app: record.app, bytes: record.bytes)
  let copy = Array(lines.bytes)
  let again = copy.withUnsafeBytes { line in
    parser.parse(line).map { ($0.event.index, $0.event.sequence, $0.app, $0.relay, $0.event.receivedAt) }
  }
  let read = try promised(again, "a record that is written again is none")
  // (A line break between an event's tokens has become a space.)
  var wanted = record.event.index
  wanted.flags.remove(.lineBreaks)
  try promise(read.0 == wanted && read.1 == record.event.sequence, "a record that is written again is another one")
  try promise(read.2 == record.app && read.3 == record.relay ?? "", "a record that is written again has other names")
  try promise(read.4 == record.event.receivedAt, "a record that is written again has another time")
}

/// A line of the stand-in's file.
@Sendable func checkStandInLine(_ bytes: UnsafeRawBufferPointer) throws(BrokenPromise) {
  guard let record = JournalRecord(line: bytes) else { return }
  try promise(record.event.lowerBound > 0 && record.event.upperBound < bytes.count, "an event is not in its line")
  guard let dialect = record.dialect else { return }
  var line: [UInt8] = []
  JournalRecord.write(
    sequence: record.sequence, receivedAt: record.receivedAt, app: record.app, kind: record.kind, dialect: dialect,
    isClamped: false, hasLineBreaks: false, event: UnsafeRawBufferPointer(rebasing: bytes[record.event]), to: &line)
  line.removeLast()
  let again = try promised(line.withUnsafeBytes { JournalRecord(line: $0) }, "a line that is written again is none")
  try promise(
    again.sequence == record.sequence && again.receivedAt == record.receivedAt && again.app == record.app
      && line[again.event].elementsEqual(bytes[record.event]), "a line that is written again is another one")
}
