import Archive
import Clocks
import EventLog
import Observability
import Records

extension ArchiveWorker {
  /// Makes the archive and the log agree: cuts off what isn't synced, and has it read again.
  func recover(_ now: ContinuousClock.Instant) throws(ArchiveFailure) {
    do throws(ArchiveError) {
      // What somebody took away is not put back to what it was.
      if let writer, try writer.look() != .unchanged { self.writer = nil }
      try writer?.recover()
    } catch {
      throw .archive(error)
    }
    if writer == nil { try open(now) }
    reader.rewind()
    syncDue = nil
    needsRecovery = false
  }

  private func open(_ now: ContinuousClock.Instant) throws(ArchiveFailure) {
    let memory: ArchiveMemory?
    do throws(ArchiveMemory.Unreadable) {
      memory = try ArchiveMemory.read(subscription.attachment)
    } catch {
      throw .position(error)
    }
    do throws(ArchiveError) {
      let writer = try ArchiveWriter(place, memory: memory, now: clock.now, on: system)
      for note in writer.notes { tell(note) }
      self.writer = writer
    } catch {
      throw .archive(error)
    }
    openSince = now
    needsCommit = true
  }

  /// Calls the writer, which is open.
  func archive<Value>(_ body: (ArchiveWriter) throws(ArchiveError) -> Value) throws(ArchiveFailure) -> Value {
    guard let writer else { throw .left }
    do throws(ArchiveError) {
      return try body(writer)
    } catch {
      throw .archive(error)
    }
  }

  func begin(at event: StoredEvent, _ now: ContinuousClock.Instant) throws(ArchiveFailure) {
    try archive { writer throws(ArchiveError) in try writer.begin(at: event.receivedAt, first: event.sequence) }
    openSince = now
  }

  /// Makes what is written durable, acknowledges it, and commits that.
  func settle() throws(ArchiveFailure) {
    syncDue = nil
    // Once the files are synced, nothing may fail before what is in them is acknowledged.
    try archive { writer throws(ArchiveError) in try writer.sync() }
    if reader.acknowledge() { needsCommit = true }
    if needsCommit { try commit() }
  }

  /// Makes what is acknowledged durable together with how far the archive has come.
  func commit() throws(ArchiveFailure) {
    do throws(LogError) {
      try subscription.commit(attachment: writer?.memory.json)
    } catch {
      throw .log(error)
    }
    needsCommit = false
  }

  /// Publishes the open file, if there is one, with all that was written.
  func publish() throws(ArchiveFailure) {
    guard writer?.openFile != nil else { return }
    try settle()
    let published = try archive { writer throws(ArchiveError) in try writer.publish(at: clock.now) }
    needsCommit = true
    if let published {
      logger.info(
        "archive file published", about: subscription.destination,
        [
          "file": .text(published.file.name.lines), "events": .integer(published.file.count),
          "bytes": .integer(published.file.contents.bytes), "head": .text(published.head.hash.description),
        ])
    }
    try commit()
  }

  /// Publishes the open file when its time is over, though no event comes that would tell.
  func publishIfOver(_ now: ContinuousClock.Instant) throws(ArchiveFailure) {
    guard let file = writer?.openFile, rotation.isOver(file, age: now - openSince, now: clock.now) else { return }
    try publish()
  }

  /// Leaves an archive that isn't where or what it was.
  ///
  /// A directory that was moved still takes what belongs there: its open file is published in it. The next archive begins
  /// where this one was, and says what it continues.
  func leaveIfMoved() throws(ArchiveFailure) {
    switch try archive({ writer throws(ArchiveError) in try writer.look() }) {
    case .unchanged: return
    case .moved:
      warn("the archive's directory was moved or removed; what was written is published there, and a new one is begun")
      // When that fails, the directory is gone with what was in it.
      do throws(ArchiveFailure) {
        try publish()
      } catch {
        logger.warning(
          "the moved archive can't be finished", about: subscription.destination, ["error": .text(error.description)])
      }
    case .changed: warn("the archive's files were changed or removed by somebody else; it is opened anew")
    }
    writer = nil
    throw .left
  }

  /// Removes old files once an hour.
  func sweepIfDue(_ now: ContinuousClock.Instant) throws(ArchiveFailure) {
    guard let retention, let writer, sweepDue.map({ now >= $0 }) ?? true else { return }
    let isFirst = sweepDue == nil
    sweepDue = now + RetentionPolicy.interval
    let newest = writer.memory.newest
    if isFirst, RetentionPolicy.waitsForClock(newest: newest, now: clock.now) {
      logger.warning(
        "the clock is far ahead of the newest event written: old files are looked for in an hour, should it be wrong",
        about: subscription.destination, ["newest": .text(newest.description), "clock": .text(clock.now.description)])
      return
    }
    let limit = clock.now - retention.retention
    let sweep = try archive { writer throws(ArchiveError) in try writer.removeFiles(before: limit, at: clock.now) }
    guard sweep.files > 0 else { return }
    needsCommit = true
    if sweep.isUnfinished { sweepDue = now }
    logger.info(
      "old files removed", about: subscription.destination,
      ["files": .integer(sweep.files), "bytes": .integer(sweep.bytes)])
  }

  private func warn(_ message: StaticString) {
    logger.warning(message, about: subscription.destination, ["path": .text(place.path)])
  }

  private func tell(_ note: ArchiveNote) {
    let name = subscription.destination
    switch note {
    case .begun(let path, let continues):
      logger.info(
        "archive begun", about: name,
        ["path": .text(path), "continues": .text(continues?.hash.description ?? "nothing")])
    case .otherArchive(let path):
      logger.warning("another archive than the last time is in the directory", about: name, ["path": .text(path)])
    case .manifestCut(let bytes):
      logger.warning("half a line of the manifest was cut off", about: name, ["bytes": .integer(bytes)])
    case .published(let file):
      logger.info("the publication of a file was finished", about: name, ["file": .text(file)])
    case .continued(let file, let cut):
      guard cut > 0 else { return }
      logger.info(
        "archive file cut back to what is whole", about: name, ["file": .text(file), "bytes": .integer(cut)])
    case .setAside(let file, let to, let reason):
      logger.warning(
        "an unpublished file of the archive was set aside", about: name,
        ["file": .text(file), "to": .text(to), "reason": .text(reason)])
    case .missing(let file, let first, let last):
      logger.error(
        "events are missing from the archive: the file they were in is gone or damaged", about: name,
        ["file": .text(file), "first": .text("\(first)"), "last": .text("\(last)")])
    }
  }
}
