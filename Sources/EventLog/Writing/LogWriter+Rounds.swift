import Clocks
import Observability

extension LogWriter {
  /// The writer's thread.
  func run() {
    while true {
      monitor.lock()
      while filling.isEmpty && !isRollAsked && !isClosed {
        isWriterWaiting = true
        if let dirtySince {
          let left = tuning.syncInterval - (.now - dirtySince)
          monitor.wait(for: work, milliseconds: max(1, Int(left.seconds * 1000)))
          if filling.isEmpty && !isRollAsked { break }
        } else {
          monitor.wait(for: work)
        }
      }
      isWriterWaiting = false
      let isDone = isClosed && filling.isEmpty
      let isIdle = filling.isEmpty && !isRollAsked
      monitor.unlock()
      if isDone { return }
      if isIdle { syncDirty() } else { _ = runRound() }
    }
  }

  /// Writes, syncs and answers all that is staged, then changes the segment when asked to; false when there was nothing.
  func runRound() -> Bool {
    monitor.lock()
    swap(&filling, &writing)
    let batch = writing
    // Asked for later, while the lock is let go below, it must wait for what is staged by then.
    let isRolling = isRollAsked
    while batch.copying > 0 {
      isWriterWaiting = true
      monitor.wait(for: work)
    }
    isWriterWaiting = false
    let isFailed = failure != nil
    monitor.unlock()
    if isFailed { return false }

    let hadWork = !batch.isEmpty || isRolling
    if !batch.isEmpty { write(batch) }
    if isRolling { roll() }
    // However much comes in, and the writer is never idle.
    let dirtySince = monitor.withLock { self.dirtySince }
    if let dirtySince, .now - dirtySince >= tuning.syncInterval { syncDirty() }
    return hadWork
  }

  private func write(_ batch: StagingBuffer) {
    // (Checked since frames in another segment's file would be lost.)
    guard let active = monitor.withLock({ active }), active.segment.life == batch.life else {
      return fail("frames were staged for a segment that isn't the active one: this is a fault of the program")
    }
    let start = ContinuousClock.now
    do throws(DiskError) {
      try clearRemains(active)
      try active.file.write(batch.finish(), at: batch.offset)
    } catch {
      if error.isOutOfSpace { refuseForSpace(error) } else { fail(error) }
      return
    }
    if configuration.durability == .fsync {
      do throws(DiskError) { try active.file.syncData() } catch { return fail(error) }
    }
    let elapsed = ContinuousClock.now - start
    syncSeconds.observe(elapsed)
    eventsPerSync.observe(Double(batch.notes.reduce(0) { $0 + $1.count }))
    if elapsed > .seconds(1) {
      logger.warning("the disk is slow: a write and sync took long", ["took": .seconds(elapsed.seconds)])
    }
    effects.publish(batch, active.segment)
    for note in batch.notes { note.completion(.stored(first: note.first)) }

    monitor.lock()
    writtenOffset = batch.range.upperBound
    if configuration.durability == .fsync { syncedOffset = writtenOffset } else { dirtySince = dirtySince ?? .now }
    noSpaceUntil = nil
    batch.reset()
    room.signalAll()
    monitor.unlock()
    effects.wake()
  }

  /// Syncs what durability `os` has answered already.
  private func syncDirty() {
    guard let active = monitor.withLock({ active }) else { return }
    do throws(DiskError) { try active.file.syncData() } catch { return fail(error) }
    monitor.withLock {
      dirtySince = nil
      syncedOffset = writtenOffset
    }
  }

  private func roll() {
    if configuration.durability == .os && monitor.withLock({ dirtySince != nil }) { syncDirty() }
    guard monitor.withLock({ failure == nil }) else { return }
    let (current, time, before) = monitor.withLock { (active, rollTime, roomsMade) }
    let outcome = effects.roll(current, time)
    monitor.lock()
    isRollAsked = false
    rolls += 1
    switch outcome {
    case .opened(let opened):
      active = opened
      given = Given()
      syncedOffset = given.end
      writtenOffset = given.end
      remains = nil
      blocked = nil
      room.signalAll()
      monitor.unlock()
    case .blocked(let refusal, let stays):
      active = stays
      // Room that was made meanwhile says nothing a second time: it must not be found blocked by what was before.
      blocked = roomsMade == before ? (refusal, .now + tuning.retryAfterNoSpace) : nil
      room.signalAll()
      monitor.unlock()
    case .failed(let detail):
      monitor.unlock()
      fail(detail)
    }
  }

  // MARK: When the disk won't

  /// Writes zeros over what a write on a full disk may have left behind.
  private func clearRemains(_ active: ActiveSegment) throws(DiskError) {
    guard let range = remains else { return }
    let zeros = [UInt8](repeating: 0, count: range.count)
    try active.file.writeBytes(zeros, at: range.lowerBound)
    remains = nil
  }

  /// The disk is full: everything staged is refused, and its numbers and places are given again.
  private func refuseForSpace(_ error: DiskError) {
    monitor.lock()
    isResetting = true
    while filling.copying > 0 {
      isWriterWaiting = true
      monitor.wait(for: work)
    }
    isWriterWaiting = false
    let notes = writing.notes + filling.notes
    let range = writing.range
    remains = min(remains?.lowerBound ?? .max, range.lowerBound)..<max(remains?.upperBound ?? 0, range.upperBound)
    nextSequence = notes[0].first
    given.end = writing.offset
    given.frames -= notes.count
    writing.reset()
    filling.reset()
    noSpaceUntil = .now + tuning.retryAfterNoSpace
    let current = active!
    monitor.unlock()
    // What can't be cleared now is cleared before the next write.
    try? clearRemains(current)

    monitor.withLock {
      isResetting = false
      room.signalAll()
    }
    logger.error("the disk is full: events are refused until there is space again", ["why": .text(error.description)])
    for note in notes { note.completion(.refused(.diskFull)) }
  }

  private func fail(_ error: DiskError) { fail(error.description) }

  /// The log takes nothing more in this process's life: after a failed sync nobody knows what the disk holds.
  private func fail(_ detail: String) {
    monitor.lock()
    failure = detail
    isRollAsked = false
    while filling.copying > 0 {
      isWriterWaiting = true
      monitor.wait(for: work)
    }
    isWriterWaiting = false
    let notes = writing.notes + filling.notes
    writing.reset()
    filling.reset()
    room.signalAll()
    monitor.unlock()
    effects.leaveSign()
    logger.error(
      "the log has failed and takes no more events: see to the disk, then start the relay again",
      ["why": .text(detail)])
    for note in notes { note.completion(.refused(.failed)) }
    effects.wake()
  }

  /// Tells the writer's thread to end once all that is staged is written.
  func stop() {
    monitor.withLock {
      isClosed = true
      work.signalAll()
      room.signalAll()
    }
  }

  /// After the thread has ended: leaves a mark of how far the segment is synced. Once: later the files may be another
  /// log's.
  func leaveMark() {
    guard let active, failure == nil, remains == nil, given.frames > 0 else { return }
    if configuration.durability == .os { syncDirty() }
    guard failure == nil else { return }
    writeMark(active)
  }

  /// A frame without events that tells the next start how far this segment was synced.
  private func writeMark(_ active: ActiveSegment) {
    given.end = sectorAligned(given.end)
    let header = FrameHeader(
      life: active.segment.life, firstSequence: nextSequence, receivedAt: active.segment.createdAt,
      syncedOffset: UInt64(given.end), eventCount: 0, envelopeLength: 0, eventsLength: 0, appLength: 0,
      kind: FrameHeader.markKind, dialect: 0)
    // A whole sector: what an earlier life left behind it would pass for damage once frames follow.
    var bytes = [UInt8](repeating: 0, count: sectorAligned(header.length))
    bytes.withUnsafeMutableBytes { header.write(to: $0.baseAddress!) }
    // Only a help: without it the next start can't tell damage of the last frames from a write that never ended.
    do throws(DiskError) {
      try active.file.writeBytes(bytes, at: given.end)
      try active.file.syncData()
    } catch {
      logger.warning("the log's last mark can't be written", ["why": .text(error.description)])
    }
  }
}
