import Clocks
import EventLog
import Glibc
import Records

/// What the sink does when its position is an older one than its files: it was put back from a backup, or began anew.
///
/// The files say themselves what is in them. Lines that the log can't give again stay. What is owed and stands in a line that
/// stays is acknowledged before anything is written, and committed together with the files' lengths: a crash at any moment
/// leaves either the older position or one that knows all of it.
extension NDJSONWorker {
  /// The mark of a file with the lines behind it that can't be written again; the same mark where there are none, as after
  /// every crash: what is behind it then is read again.
  func markKeepingLines(_ mark: FileMark) throws(NDJSONFailure) -> FileMark {
    let tail = try file { () throws(FileError) in try RecordTail.read(behind: mark, on: system) }
    let owed = try owed(among: tail.sequences)
    if owed.isAll { return mark }
    acknowledge(owed)
    subscription.found(Set(owed.others).subtracting(owed.new))
    needsCommit = true
    logger.warning(
      "lines stand behind the position that was put back, and not all of their events are owed any more: they stay",
      about: subscription.destination, ["path": .text(mark.path), "lines": .integer(tail.sequences.count)])
    return tail.mark
  }

  /// Acknowledges the events that stand in files of this sink that the position doesn't know.
  ///
  /// After a crash there are mostly none: a file is committed before its first line. What of theirs the log no longer has is
  /// never read again and needs no look.
  func noteLaterFiles(_ position: LinePosition) throws(NDJSONFailure) {
    var known: Set<String> = []
    for entry in position.apps {
      known.formUnion(entry.files.map(\.path))
      guard let path = entry.state.path else { continue }
      for number in 0...max(0, entry.state.number) { known.insert(RecordFile.numbered(path, number)) }
    }
    let files = PatternFiles(policy.pattern, after: position.apps.map(\.state.newest).min(), on: system)
    if let error = files.errors.first(where: { !$0.isElsewhere }) { throw .file(error) }
    for file in files.found where !known.contains(file.path) {
      do throws(NDJSONFailure) {
        try noteLines(of: file)
      } catch {
        if case .file(let error) = error, error.isElsewhere { continue }
        throw error
      }
    }
  }

  /// Only of a file that is this sink's by its lines: another relay's, or one of other apps than its name says, may fit the
  /// pattern as well.
  private func noteLines(of found: PatternFiles.File) throws(NDJSONFailure) {
    let last = try file { () throws(FileError) in try RecordFile.lastNumber(in: found.path, on: system) }
    guard let last, try owed(among: [last]).isAll,
      let tail = try file({ () throws(FileError) in try RecordTail.read(found.path, relay: lines.relay, on: system) }),
      !tail.isForeign, tail.apps.allSatisfy({ [nil, PathPattern.fileName(ofApp: $0)].contains(found.told.app) })
    else { return }
    // Half a line at its end goes. One that somebody holds open isn't this sink's.
    if tail.isWhole,
      case .continued(let file, let cut) = try file({ () throws(FileError) in
        try RecordFile.reopen(tail.mark, on: system)
      }), cut > 0
    {
      note("line file cut back to what is whole", file.path, bytes: cut)
    }
    acknowledge(try owed(among: tail.sequences))
    logger.warning(
      "a file has events that are owed by the position, which may have been put back: they are not written again",
      about: subscription.destination, ["path": .text(found.path), "lines": .integer(tail.sequences.count)])
  }

  private func acknowledge(_ owed: OwedNumbers) {
    for (lane, numbers) in [(Lane.all, owed.new), (.allReplayed, owed.again)] {
      var ranges = NumberRanges()
      ranges.add(numbers)
      for range in ranges.ranges { subscription.acknowledge(lane, range, Tally(.delivered, range.count)) }
    }
    needsCommit = true
  }

  private func owed(among numbers: [UInt64]) throws(NDJSONFailure) -> OwedNumbers {
    do throws(LogError) {
      return try subscription.owed(among: numbers)
    } catch {
      throw .log(error)
    }
  }

  private func file<Result>(_ body: () throws(FileError) -> Result) throws(NDJSONFailure) -> Result {
    do throws(FileError) {
      return try body()
    } catch {
      throw .file(error)
    }
  }
}

extension FileError {
  /// It tells of a file or directory that is somebody else's.
  fileprivate var isElsewhere: Bool { [EACCES, EPERM, EWOULDBLOCK, ELOOP, ENXIO].contains(code) }
}
