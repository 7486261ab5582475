import Archive
import DeadLetters
import Dialects
import EventLog
import JSON

/// One storing of an event: a sender that sends an event twice makes two, each with a number of its own.
struct EventCopy {
  var sequence: UInt64
  var app: String
  /// `event` or `identify`.
  var kind: String
  /// What protocol it came by, as configurations call it.
  var protocolName: String
  /// As records write it.
  var receivedAt: String
  /// Nil when it isn't known.
  var isClamped: Bool?
  /// Where it is in the log; nil when the log has it no longer.
  var hit: EventSearch.Hit?
  /// The oldest first.
  var letters: [DeadLetterSummary] = []
  /// Where it is in archives, by sink.
  var archived: [String: ArchivePlace] = [:]
  /// Where it waits to be sent again, or did a moment ago.
  var replays: [(destination: String, waits: Bool)] = []

  init(_ hit: EventSearch.Hit) {
    sequence = hit.event.original
    app = hit.app
    kind = hit.event.kind.name
    protocolName = DialectRegistry.name(of: hit.event.dialect)
    receivedAt = hit.event.receivedAt.description
    isClamped = hit.event.index.flags.contains(.clamped)
  }

  init(_ letter: DeadLetterSummary) {
    sequence = letter.sequence
    app = letter.app
    kind = letter.kind
    protocolName = letter.protocolName
    receivedAt = letter.receivedAt
  }

  init(_ record: ArchivedRecord) {
    sequence = record.sequence
    app = record.app
    kind = record.kind
    protocolName = record.protocolName
    receivedAt = record.receivedAt
    isClamped = record.isClamped
  }
}
