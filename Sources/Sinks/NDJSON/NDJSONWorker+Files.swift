import EventLog
import Records

extension NDJSONWorker {
  /// Makes the file and the log agree: cuts off what isn't acknowledged, and has it read again.
  func recover() throws(NDJSONFailure) {
    if state == nil { try restore() } else { try cutBack() }
    reader.rewind()
    syncDue = nil
    needsRewind = false
  }

  /// At start: finds the open files again by what was committed.
  private func restore() throws(NDJSONFailure) {
    let position: NDJSONPosition
    do throws(NDJSONPositionError) {
      position = try NDJSONPosition(subscription.attachment)
    } catch {
      throw .position(error)
    }
    var state = position.state
    for mark in position.files {
      do throws(FileError) {
        switch try RecordFile.reopen(mark, on: system) {
        case .continued(let found, let cut):
          if cut > 0 { note("line file cut back to what is committed", found.path, bytes: cut) }
          guard policy.continues(found.path, state) else { continue }
          file = found
          fileEnd = policy.end(ofFileAt: state.newest)
        case .renamed(let path, let cut):
          note("line file found under another name, cut back to what is committed", path, bytes: cut)
        case .changed:
          warn("line file was changed by somebody else; left as it is, and a new one is begun", mark.path)
        case .missing:
          warn("line file is gone; a new one is begun", mark.path)
        }
      } catch {
        throw .file(error)
      }
    }
    if file == nil, position.files.contains(where: { policy.continues($0.path, state) }) == false {
      state.isEnded = true
    }
    self.state = state
  }

  /// After a failure: the open file is cut back, and left when it can't be trusted.
  private func cutBack() throws(NDJSONFailure) {
    guard let file else { return }
    do throws(FileError) {
      switch try file.look() {
      case .deleted: return leave(ended: false)
      case .shortened: return leave(ended: true)
      case .unchanged, .renamed, .lengthened: try file.cutToMark()
      }
    } catch {
      throw .file(error)
    }
    if file.isFailed { leave(ended: true) }
  }

  /// Begins the file that the newest event's time names, and commits it empty, so that after a crash its lines are known
  /// for what they are.
  func begin() throws(NDJSONFailure) {
    try synchronize()
    if file != nil { leave(ended: true) }
    guard let state else { return }
    let next = policy.next(after: state)
    do throws(FileError) {
      let (begun, number) = try RecordFile.create(next.path, from: next.from, on: system)
      self.state = RotationPolicy.State(newest: state.newest, path: next.path, number: number, isEnded: false)
      file = begun
      fileEnd = policy.end(ofFileAt: state.newest)
    } catch {
      throw .file(error)
    }
    needsCommit = true
    try commit()
  }

  private func leave(ended: Bool) {
    file = nil
    if ended { state?.isEnded = true }
    needsCommit = true
  }

  /// Syncs the file and acknowledges what is in it, without committing that. Leaves a file that isn't what it was:
  ///
  /// - renamed: its lines are safe in it, whatever its name is now; the next ones go to a new file of its old name;
  /// - written to by somebody else: likewise, under the next number;
  /// - deleted, or cut: what is not acknowledged went with it, and is written again to a new file.
  func synchronize() throws(NDJSONFailure) {
    syncDue = nil
    guard let file else {
      // (Events that nobody wants need no file.)
      if reader.acknowledge() { needsCommit = true }
      return
    }
    let place: RecordFile.Place
    do throws(FileError) {
      // In this order: once the mark has moved, nothing may fail before what it covers is acknowledged.
      place = try file.look()
      try file.sync()
    } catch {
      throw .file(error)
    }
    if place == .deleted || place == .shortened {
      warn("line file was removed or cut by somebody else; a new one is begun", file.path)
      leave(ended: place == .shortened)
      if reader.hasUnacknowledged { throw .left(place) }
      return
    }
    if reader.acknowledge() { needsCommit = true }
    guard place != .unchanged else { return }
    warn("line file was renamed, or written to by somebody else; a new one is begun", file.path)
    leave(ended: place == .lengthened)
  }

  /// Makes what is acknowledged durable together with the files' lengths.
  func commit() throws(NDJSONFailure) {
    guard let state else { return }
    do throws(LogError) {
      try subscription.commit(attachment: NDJSONPosition(state: state, files: file.map { [$0.mark] } ?? []).json)
    } catch {
      throw .log(error)
    }
    needsCommit = false
  }

  private func note(_ message: StaticString, _ path: String, bytes: Int) {
    logger.info(message, about: subscription.destination, ["path": .text(path), "bytes": .integer(bytes)])
  }

  private func warn(_ message: StaticString, _ path: String) {
    logger.warning(message, about: subscription.destination, ["path": .text(path)])
  }
}
