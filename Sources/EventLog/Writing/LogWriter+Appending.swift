import Clocks

extension LogWriter {
  /// Stages a draft; see ``DurableLog/append(_:completion:)``.
  func append(_ draft: borrowing FrameDraft, completion: @escaping @Sendable (AppendOutcome) -> Void) {
    // A draft that the format can't hold is a fault of the caller, whose own limits are far lower.
    guard let shape = FrameShape(draft), shape.length <= tuning.stagingSize else {
      logger.error("events past the log's limits were refused: this is a fault of the program")
      return completion(.refused(.failed))
    }
    if freeSpace.isLow { return completion(.refused(.diskFull)) }
    var note = FrameNote(
      app: names.id(of: draft.app), offset: 0, length: shape.length, first: 0, count: draft.events.count,
      receivedAt: draft.receivedAt, occurredAt: shape.occurredAt, completion: completion)

    monitor.lock()
    if let refusal = waitForRoom(note) {
      monitor.unlock()
      return completion(.refused(refusal))
    }
    let buffer = filling
    note.offset = nextOffset
    note.first = nextSequence
    given.end = note.offset + shape.length
    given.frames += 1
    given.apps.insert(note.app)
    nextSequence += UInt64(note.count)
    let life = active!.segment.life
    let start = buffer.reserve(note, life: life)
    let syncedOffset = syncedOffset
    if isWriterWaiting { work.signalAll() }
    monitor.unlock()

    shape.write(draft, first: note.first, life: life, syncedOffset: syncedOffset, to: start)

    monitor.lock()
    buffer.copying -= 1
    if buffer.copying == 0 && isWriterWaiting { work.signalAll() }
    monitor.unlock()
  }

  /// Waits until the frame can be staged; returns why not when it can't.
  private func waitForRoom(_ note: FrameNote) -> AppendRefusal? {
    while true {
      if isClosed { return .closed }
      if failure != nil { return .failed }
      if let until = noSpaceUntil, ContinuousClock.now < until { return .diskFull }
      if isRollAsked || isResetting {
        waitOrWork()
      } else if !fitsSegment(note) {
        if let refusal = stillBlocked { return refusal }
        askForSegment(note.receivedAt)
        if let refusal = blocked?.refusal { return refusal }
      } else if filling.hasRoom(for: note.length) {
        return nil
      } else {
        waitOrWork()
      }
    }
  }

  /// Why no other segment can be had, as found a moment ago.
  private var stillBlocked: AppendRefusal? {
    guard let blocked, ContinuousClock.now < blocked.until else { return nil }
    return blocked.refusal
  }

  private func askForSegment(_ time: Timestamp) {
    let before = rolls
    isRollAsked = true
    rollAskedSince = .now
    rollTime = time
    if isWriterWaiting { work.signalAll() }
    while rolls == before && failure == nil && !isClosed { waitOrWork() }
  }

  /// Waits for the writer, or does its work where there is none.
  private func waitOrWork() {
    guard tuning.isInline else { return monitor.wait(for: room) }
    monitor.unlock()
    _ = runRound()
    monitor.lock()
  }

  /// Where the next frame goes: a round begins with a sector of its own.
  private var nextOffset: Int { filling.isEmpty ? sectorAligned(given.end) : given.end }

  private func fitsSegment(_ note: FrameNote) -> Bool {
    guard let active else { return false }
    let delta = note.receivedAt.milliseconds - active.segment.createdAt.milliseconds
    // A directory holds times as 32 bits of milliseconds: 24 days.
    // (Where old events come in any order they don't matter.)
    guard tuning.holdsReplays || delta == Int64(Int32(clamping: delta)) else { return given.frames == 0 }
    // Whatever its size, a frame fits into an empty segment.
    if given.frames == 0 { return true }
    let footer = MemoryDirectory.footerSizeMax(frames: given.frames + 1, apps: given.apps.count + 1)
    return sectorAligned(nextOffset + note.length) + footer <= segmentSize
  }

  /// Segments were freed: what was refused for want of room may come in again.
  func roomWasMade() {
    monitor.withLock {
      roomsMade += 1
      blocked = nil
    }
  }
}
