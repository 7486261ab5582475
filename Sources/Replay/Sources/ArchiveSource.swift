import Archive
import Clocks
import EventLog
import Records

/// An archive's published files, without what the destination was owed when the replay was begun.
struct ArchiveSource: ReplaySource {
  /// Lines between two looks whether to go on.
  private static let patience = 1000

  let reader: ArchiveReader
  let record: ReplayRecord
  /// This instance's id: another's numbers say nothing of what is owed here.
  let relay: String

  init(_ directory: String, record: ReplayRecord, relay: String) throws(ReplayError) {
    do throws(ArchiveError) {
      reader = try ArchiveReader(directory: directory)
    } catch {
      throw ReplayError(.invalid, error.description)
    }
    self.record = record
    self.relay = relay
  }

  func forEach(
    after place: ReplayPlace?, goesOn: () -> Bool, _ visit: (ReplayCandidate) -> Bool
  ) throws(ReplayError) -> Int {
    let selection = record.request.selection
    let owed = reader.begin.relay == relay ? record.owed : nil
    let times = LineFilter(since: selection.since, until: selection.until)
    let parser = RecordParser()
    var unreadable = 0
    var lines = 0
    do throws(ArchiveError) {
      try reader.forEachLine(
        from: place.map { ArchivePlace(file: $0.file, line: Int($0.number) + 1) }, skippingFiles: times.skips
      ) { place, line in
        lines += 1
        if lines % Self.patience == 0, !goesOn() { return false }
        guard times.admits(line) else { return true }
        guard let found = parser.parse(line) else {
          unreadable += 1
          return true
        }
        guard selection.admits(found.event, app: found.app, bytes: found.bytes),
          owed?.contains(app: found.app, found.event.sequence) != true
        else { return true }
        return visit(
          ReplayCandidate(
            event: found.event, app: found.app, bytes: found.bytes,
            place: ReplayPlace(file: place.file, number: UInt64(place.line))))
      }
    } catch {
      throw ReplayError(.failed, error.description)
    }
    return unreadable
  }
}
