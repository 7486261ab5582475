import DeadLetters
import EventLog
import Records

/// A destination's dead letters that were not put back yet.
struct LetterSource: ReplaySource {
  let reader: DeadLetterReader
  let record: ReplayRecord
  /// How far the file that is written to belongs to what is settled: what lies behind may be tried again by itself.
  let committed: FileMark?

  func forEach(
    after place: ReplayPlace?, goesOn: () -> Bool, _ visit: (ReplayCandidate) -> Bool
  ) throws(ReplayError) -> Int {
    let filter = record.request.letters(begun: record.begun)
    let parser = RecordParser()
    var unreadable = 0
    do throws(FileError) {
      for file in try reader.files() {
        if let place, file < place.file { continue }
        let first = place?.file == file ? Int(place?.number ?? 0) + 1 : 1
        let end = committed.flatMap { mark in mark.path.hasSuffix("/\(file)") ? mark.length : nil }
        let isWhole = try reader.forEach(in: file, from: first, end: end, filter, readsEvents: false) { letter, line in
          guard goesOn() else { return false }
          guard let found = parser.parse(line), let reason = Outcome(rawValue: letter.reason) else {
            unreadable += 1
            return true
          }
          return visit(
            ReplayCandidate(
              event: found.event, app: found.app, bytes: found.bytes,
              place: ReplayPlace(file: file, number: UInt64(letter.line)), reason: reason))
        }
        guard isWhole else { break }
      }
    } catch {
      throw ReplayError(.failed, "the dead letters can't be read: \(error)")
    }
    return unreadable
  }
}
