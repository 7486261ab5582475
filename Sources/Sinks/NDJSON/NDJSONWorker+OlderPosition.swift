import Clocks
import EventLog
import Records

/// What the sink does when its position is an older one than its files: it was put back from a backup, or began anew.
///
/// The files say themselves what is in them. Lines that the log can't give again stay, and lines of files that the position
/// knows nothing of are not written again.
extension NDJSONWorker {
  /// The mark of a file with the lines behind it that can't be written again; the same mark where there are none, as after
  /// every crash: what is behind it then is read again.
  func markKeepingLines(_ mark: FileMark) throws(FileError) -> FileMark {
    let tail = try RecordTail.read(behind: mark, on: system)
    guard !tail.sequences.allSatisfy(subscription.mayHold) else { return mark }
    written.add(tail.sequences)
    subscription.found(Set(tail.sequences.filter { !subscription.mayHold($0) }))
    logger.warning(
      "lines stand behind the position that was put back, and their events are no longer in the log: they stay",
      about: subscription.destination, ["path": .text(mark.path), "lines": .integer(tail.sequences.count)])
    return tail.mark
  }

  /// Finds out which events stand in files that the position doesn't know.
  ///
  /// After a crash there are none: a file is committed before its first line. What of theirs the log no longer has is never
  /// read again and needs no look.
  func noteLaterFiles(_ position: LinePosition) throws(FileError) {
    var known: Set<String> = []
    for entry in position.apps {
      known.formUnion(entry.files.map(\.path))
      guard let path = entry.state.path else { continue }
      for number in 0...max(0, entry.state.number) { known.insert(RecordFile.numbered(path, number)) }
    }
    let oldest = position.apps.map(\.state.newest).min() ?? Timestamp(milliseconds: .min)
    for file in try PatternFiles.list(policy.pattern, on: system) where !known.contains(file.path) {
      if let end = file.end, end < oldest { continue }
      guard let last = try RecordFile.lastNumber(in: file.path, on: system), subscription.mayHold(last),
        let tail = try RecordTail.read(file.path, on: system)
      else { continue }
      written.add(tail.sequences)
      logger.warning(
        "a file has events that the position knows nothing of, which was put back: they are not written again",
        about: subscription.destination, ["path": .text(file.path), "lines": .integer(tail.sequences.count)])
      // Half a line at its end goes.
      if case .continued(let found, let cut) = try RecordFile.reopen(tail.mark, on: system), cut > 0 {
        note("line file cut back to what is whole", found.path, bytes: cut)
      }
    }
  }

  /// Leaves out of the batch what stands in a file already.
  /// - Returns: how many events those were.
  func leaveOutWritten() -> Int {
    guard !written.isEmpty, !reader.lane.isReplayed else { return 0 }
    return reader.batch.keep { !written.contains($0.sequence) }
  }
}
