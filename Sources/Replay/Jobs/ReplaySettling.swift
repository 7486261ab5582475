import DeadLetters
import EventLog
import Records

/// Notes what a put has brought into a queue: in the dead letters, in the replay's record, and last in the queue's journal.
///
/// Each step may be done twice: a crash between them repeats those before it.
struct ReplaySettling {
  let queue: ReplayQueue
  let files: ReplayFiles
  let deadLetters: DeadLetterStore

  /// - Parameter record: nil when it is gone: then the next replay of the kind begins anew.
  func settle(_ put: ReplayPut, _ record: inout ReplayRecord?) throws(ReplayError) {
    do throws(FileError) {
      var letters: [String: LineSet] = [:]
      for run in put.stored.runs where run.reason != nil {
        letters[run.file, default: LineSet()].insert(Int(run.numbers.lowerBound)...Int(run.numbers.upperBound))
      }
      for (file, lines) in letters { try deadLetters.markReplayed(lines, of: file) }
    } catch {
      throw ReplayError(.failed, "it can't be noted which dead letters were put back: \(error)")
    }
    record?.take(put)
    if let record { try files.write(record) }
    do throws(LogError) {
      try queue.settle(putBack: put.stored.reasons)
    } catch {
      throw ReplayError(.failed, "the replay's journal can't be written: \(error)")
    }
  }

  /// Settles what a crash left of a put.
  func recover() throws(ReplayError) {
    guard let unsettled = queue.unsettled else { return }
    // What a failed sync has left on the disk shows at the next start.
    if case .failed(let detail) = queue.health {
      throw ReplayError(
        .failed, "the queue of \(queue.destination) has failed (\(detail)): see to the disk, then start the relay again"
      )
    }
    guard let put = ReplayPut(unsettled.note, stored: unsettled.stored) else {
      throw ReplayError(
        .failed, "the journal of replays in \(queue.directory) can't be understood: was it written by another program?")
    }
    var record = try files.read(put.job, of: queue.destination)
    if record?.state.isOver == false { record?.state = .stopped }
    try settle(put, &record)
  }
}
