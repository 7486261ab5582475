import DeadLetters
import EventLog

/// Everything that was found of one id, put together by the numbers its storings have.
struct PassportCopies {
  private var bySequence: [UInt64: EventCopy] = [:]

  /// The newest first.
  var all: [EventCopy] { bySequence.values.sorted { $0.sequence > $1.sequence } }

  mutating func add(_ hits: [EventSearch.Hit], _ letters: [DeadLetterSummary]) {
    for hit in hits {
      let sequence = hit.event.original
      var copy = bySequence[sequence] ?? EventCopy(hit)
      if let replay = hit.replay { copy.replays.append(replay) } else { copy.hit = hit }
      bySequence[sequence] = copy
    }
    for letter in letters {
      bySequence[letter.sequence, default: EventCopy(letter)].letters.append(letter)
    }
    for sequence in bySequence.keys {
      bySequence[sequence]!.letters.sort { ($0.at, $0.file, $0.line) < ($1.at, $1.file, $1.line) }
    }
  }

  mutating func add(_ records: [ArchivedRecord], of sink: String) {
    for record in records {
      var copy = bySequence[record.sequence] ?? EventCopy(record)
      copy.archived[sink] = record.place
      copy.isClamped = record.isClamped
      bySequence[record.sequence] = copy
    }
  }
}
