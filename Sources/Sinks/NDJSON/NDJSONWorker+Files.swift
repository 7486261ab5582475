import EventLog
import Records

extension NDJSONWorker {
  /// Makes the files and the log agree: cuts off what isn't acknowledged, and has it read again.
  func recover() throws(NDJSONFailure) {
    if let files {
      do throws(FileError) {
        for files in files.values { try files.rollBack(on: system) }
      } catch {
        throw .file(error)
      }
    } else {
      try restore()
    }
    reader.rewind()
    syncDue = nil
    needsRewind = false
  }

  /// At start: finds the files again by what was committed.
  private func restore() throws(NDJSONFailure) {
    let position: LinePosition
    do throws(LinePositionError) {
      position = try LinePosition(subscription.attachment)
    } catch {
      throw .position(error)
    }
    var all: [String: LineFiles] = [:]
    for entry in position.apps {
      let files = LineFiles(app: entry.app, state: entry.state)
      for mark in entry.files {
        let mark = try markKeepingLines(mark)
        do throws(FileError) {
          guard let found = try reopen(mark), policy.continues(found.path, entry.state, app: entry.app) else {
            continue
          }
          files.take(LineFile(found), end: policy.end(ofFileAt: entry.state.newest))
        } catch {
          throw .file(error)
        }
      }
      if files.current == nil, !entry.files.contains(where: { policy.continues($0.path, entry.state, app: entry.app) })
      {
        files.endState()
      }
      // One descriptor is enough where there may be many.
      if policy.pattern.namesApp { try? files.current?.close() }
      all[entry.app] = files
    }
    try noteLaterFiles(position)
    files = all
  }

  /// The marked file, cut back to its mark; nil when it is not there as it was.
  private func reopen(_ mark: FileMark) throws(FileError) -> RecordFile? {
    switch try RecordFile.reopen(mark, on: system) {
    case .continued(let found, let cut):
      if cut > 0 { note("line file cut back to what is committed", found.path, bytes: cut) }
      return found
    case .renamed(let path, let cut):
      note("line file found under another name, cut back to what is committed", path, bytes: cut)
    case .changed:
      warn("line file was changed by somebody else; left as it is, and a new one is begun", mark.path)
    case .missing:
      warn("line file is gone; a new one is begun", mark.path)
    }
    return nil
  }

  /// Syncs the files, acknowledges what is in them, and commits that. Leaves a file that isn't what it was:
  ///
  /// - renamed: its lines are safe in it, whatever its name is now; the next ones go to a new file of its old name;
  /// - written to by somebody else: likewise, under the next number;
  /// - deleted, or cut: what is not acknowledged went with it, and is written again to a new file.
  func settle() throws(NDJSONFailure) {
    syncDue = nil
    let dirty = (files ?? [:]).values.filter { $0.isDirty || $0.current?.open != nil }
    var places: [RecordFile.Place] = []
    do throws(FileError) {
      // In this order: once one file has moved its mark, nothing may fail before what it covers is acknowledged, or all
      // of them are cut back.
      for files in dirty { places.append(try synchronize(files)) }
    } catch {
      throw .file(error)
    }
    if let lost = places.first(where: { $0 == .deleted || $0 == .shortened }), reader.hasUnacknowledged {
      throw .left(lost)
    }
    for (files, place) in zip(dirty, places) {
      files.settle()
      guard place != .unchanged else { continue }
      files.forgetCurrent(ended: place == .lengthened || place == .shortened)
      files.settle()
      needsCommit = true
    }
    if reader.acknowledge() { needsCommit = true }
    prune()
    if needsCommit { try commit() }
  }

  /// Syncs an app's files; what has become of the worst of them.
  private func synchronize(_ files: LineFiles) throws(FileError) -> RecordFile.Place {
    for file in files.left {
      let place = try file.look(on: system)
      guard place == .deleted || place == .shortened else { continue }
      warn("line file was removed or cut by somebody else", file.path)
      return place
    }
    guard let file = files.current else { return .unchanged }
    let place = file.open == nil && !file.isDirty ? .unchanged : try file.look(on: system)
    switch place {
    case .unchanged: break
    case .deleted, .shortened:
      warn("line file was removed or cut by somebody else; a new one is begun", file.path)
      return place
    case .renamed, .lengthened:
      warn("line file was renamed, or written to by somebody else; a new one is begun", file.path)
    }
    try file.sync()
    return place
  }

  /// Makes what is acknowledged durable together with the files' lengths.
  func commit() throws(NDJSONFailure) {
    guard let files else { return }
    let position = LinePosition(apps: files.values.map(\.entry).sorted { $0.app < $1.app })
    do throws(LogError) {
      try subscription.commit(attachment: position.json)
    } catch {
      throw .log(error)
    }
    needsCommit = false
  }

  /// Forgets apps whose file has ended with all of it settled, and the longest silent ones past the bound. Not in the middle
  /// of a batch, which may be about to write to them.
  private func prune() {
    guard let files, files.count > 1 else { return }
    let newest = files.values.map(\.state.newest).max() ?? .init(milliseconds: .min)
    let clean = files.values.filter { !$0.isDirty }
    for one in clean where one.end <= newest || one.app.isEmpty == policy.pattern.namesApp {
      self.files?[one.app] = nil
    }
    let over = (self.files?.count ?? 0) - Self.appsMax
    guard over > 0 else { return }
    for one in clean.sorted(by: { $0.lastUse < $1.lastUse }).prefix(over) { self.files?[one.app] = nil }
  }

  func note(_ message: StaticString, _ path: String, bytes: Int) {
    logger.info(message, about: subscription.destination, ["path": .text(path), "bytes": .integer(bytes)])
  }

  private func warn(_ message: StaticString, _ path: String) {
    logger.warning(message, about: subscription.destination, ["path": .text(path)])
  }
}
