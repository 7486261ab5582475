import DeadLetters
import EventLog
import JSON

/// Where was looked for an event, and where not.
struct PassportBounds {
  var log: EventSearch.Extent
  var letters: DeadLetterReader.Extent
  var archivesLeft = 0
  /// What couldn't be read, a sentence each.
  var failures: [String] = []

  /// What there was no time for, or couldn't be read; empty: all was looked at.
  var sentences: [String] {
    var out: [String] = []
    if log.segmentsLeft > 0 { out.append("\(log.segmentsLeft) older segments of the log: the time was over") }
    if log.unread > 0 { out.append("\(log.unread) segments of the log that can't be read, or went meanwhile") }
    if letters.filesLeft > 0 { out.append("\(letters.filesLeft) older files of dead letters: the time was over") }
    if archivesLeft > 0 { out.append("\(archivesLeft) files of archives: the time was over") }
    return out + failures
  }

  func json(_ archives: [JSONValue]) -> JSONValue {
    [
      "log": [
        "segments": JSONValue(log.segments), "segments_left": JSONValue(log.segmentsLeft),
        "bytes_read": JSONValue(log.bytesRead), "oldest_received_at": JSONValue(log.oldestReceivedAt?.description),
      ],
      "dead_letters": ["files": JSONValue(letters.files), "files_left": JSONValue(letters.filesLeft)],
      "archives": .array(archives),
    ]
  }
}
