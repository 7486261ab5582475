import EventLog
import Records

extension NDJSONWorker {
  /// Writes a batch's lines to their files.
  /// - Returns: false when there was nothing to read.
  func writeBatch(_ now: ContinuousClock.Instant) throws(NDJSONFailure) -> Bool {
    do throws(LogError) {
      guard try reader.read(Self.readLimit) else { return false }
    } catch {
      throw .log(error)
    }
    turn += 1
    let events = reader.batch.events
    if policy.pattern.namesApp {
      let groups = byApp(events)
      try begin(for: groups)
      for (files, indices) in groups {
        try write(indices, of: events, to: files)
        try closeSomeFiles(besides: files)
      }
    } else if !events.isEmpty {
      try write(events.indices, of: events, to: files(of: ""))
    }
    reader.noteRest(wanted: events.count)
    if syncDue == nil { syncDue = now + Self.syncInterval }
    return true
  }

  /// The batch's events by app, in the order in which the apps come first.
  private func byApp(_ events: [StoredEvent]) -> [(files: LineFiles, indices: [Int])] {
    var groups: [(files: LineFiles, indices: [Int])] = []
    var places: [String: Int] = [:]
    var last = (app: -1, group: 0)
    for index in events.indices {
      if events[index].appIndex != last.app {
        let app = reader.batch.app(of: events[index])
        let group = places[app] ?? groups.count
        if group == groups.count {
          places[app] = group
          groups.append((files(of: app), []))
        }
        last = (events[index].appIndex, group)
      }
      groups[last.group].indices.append(index)
    }
    return groups
  }

  func files(of app: String) -> LineFiles {
    if let known = files?[app] { return known }
    let new = LineFiles(app: app)
    files?[app] = new
    return new
  }

  /// Begins all the files that the batch begins with, and commits them together.
  private func begin(for groups: [(files: LineFiles, indices: [Int])]) throws(NDJSONFailure) {
    for (files, indices) in groups {
      guard let first = indices.first, files.mustBegin(reader.batch.events[first].receivedAt) else { continue }
      try make(files)
    }
    if needsCommit { try commit() }
  }

  private func write(
    _ indices: some Sequence<Int>, of events: [StoredEvent], to files: LineFiles
  ) throws(NDJSONFailure) {
    files.lastUse = turn
    let batch = reader.batch
    lines.removeAll()
    for index in indices {
      let event = events[index]
      if files.mustBegin(event.receivedAt) {
        try flush(lines.count, to: files)
        try begin(files)
      }
      let before = lines.count
      lines.append(event, app: batch.app(of: event), bytes: batch.bytes(of: event))
      guard let length = files.current?.length, !policy.fits(line: lines.count - before, into: length + before) else {
        continue
      }
      try flush(before, to: files)
      try begin(files)
    }
    try flush(lines.count, to: files)
  }

  /// Writes so many bytes of the lines in one go, and takes them out of the buffer.
  private func flush(_ count: Int, to files: LineFiles) throws(NDJSONFailure) {
    guard count > 0, let file = files.current else { return }
    let isThere: Bool
    do throws(FileError) {
      isThere = try file.reopen(on: system)
      if isThere { try file.open?.append(UnsafeRawBufferPointer(rebasing: lines.bytes[..<count])) }
    } catch {
      throw .file(error)
    }
    guard isThere else { throw .left(.deleted) }
    lines.removeFirst(count)
  }

  /// Begins the file that the newest event's time names, and commits it empty, so that after a crash its lines are known
  /// for what they are.
  private func begin(_ files: LineFiles) throws(NDJSONFailure) {
    try make(files)
    try commit()
  }

  private func make(_ files: LineFiles) throws(NDJSONFailure) {
    do throws(FileError) {
      if files.current != nil { try files.leave(ended: true) }
      let next = policy.next(after: files.state, app: files.app)
      let (begun, number) = try RecordFile.create(next.path, from: next.from, on: system)
      files.begin(
        LineFile(begun), path: next.path, number: number, end: policy.end(ofFileAt: files.state.newest))
    } catch {
      throw .file(error)
    }
    needsCommit = true
  }

  /// Keeps to the bound of open files: those not written to for the longest are closed.
  private func closeSomeFiles(besides files: LineFiles) throws(NDJSONFailure) {
    let open = (self.files ?? [:]).values.filter { $0.current?.open != nil }
    let most = openFilesMax()
    guard open.count > most else { return }
    let silent = open.filter { $0 !== files }.sorted { $0.lastUse < $1.lastUse }
    for one in silent.prefix(max(open.count - most, most / 4)) {
      do throws(FileError) {
        try one.current?.close()
      } catch {
        throw .file(error)
      }
    }
  }
}
