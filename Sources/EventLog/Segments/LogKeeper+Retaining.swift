import Clocks
import Observability

/// Segments that nobody is owed anything of, and how long they stay for replay.
extension LogKeeper {
  /// Finished segments that no destination is owed anything of, as far as is on disk, but what it would give up; the oldest
  /// first.
  func settledSegments() -> [Segment] {
    let (subscriptions, isHeld) = monitor.withLock {
      (Array(self.subscriptions.values), !unreadable.isEmpty || awaitsDestinations)
    }
    // With nobody to ask, nothing is known to be finished.
    guard !subscriptions.isEmpty, !isHeld else { return [] }
    return catalog.all.filter { segment in
      let (isSealed, end) = catalog.monitor.withLock { (segment.isSealed, segment.endSequence) }
      return isSealed && subscriptions.allSatisfy { $0.frees(segment, end: end) || $0.yields(segment) }
    }
  }

  /// Those of them that may go now.
  func freeSegments() -> [Segment] {
    let now = files.clock.now
    return settledSegments().filter { !isKept($0, at: now) }
  }

  /// Whether a segment stays though nobody should be owed anything of it.
  func isKept(_ segment: Segment, at now: Timestamp) -> Bool { isPinned(segment) || isYoung(segment, at: now) }

  /// Whether the newest receipt in a segment is within `log.retain`.
  func isYoung(_ segment: Segment, at now: Timestamp) -> Bool {
    guard configuration.retain > .zero,
      let newest = catalog.share(of: .all, in: segment)?.receivedAt.latestIfAny
    else { return false }
    return now - newest < configuration.retain
  }

  /// Whether somebody reads through the log and hasn't come past the segment's end.
  func isPinned(_ segment: Segment) -> Bool {
    guard let first = monitor.withLock({ pins.values.min() }) else { return false }
    return catalog.monitor.withLock { segment.endSequence } > first
  }

  var retainedBytes: Int {
    guard configuration.retain > .zero || monitor.withLock({ !pins.isEmpty }) else { return 0 }
    let segments = settledSegments()
    return catalog.monitor.withLock { segments.reduce(0) { $0 + $1.fileSize } }
  }

  /// Bytes of the segments of which somebody is owed something, the active one included.
  var owedBytes: Int { catalog.sizeBytes - retainedBytes }

  /// Lets as many of the oldest kept segments go as `min_free_disk` calls for. Called with the files' lock held.
  func makeDiskRoom() {
    guard files.freeSpace.isLow else { return }
    files.freeSpace.refresh()
    let available = files.freeSpace.availableBytes
    // (A reload may change it meanwhile.)
    let minimum = files.freeSpace.minimum
    var missing = minimum > available ? Int(clamping: minimum - available) : 0
    guard missing > 0 else { return }
    var segments: [Segment] = []
    for segment in settledSegments() where missing > 0 {
      segments.append(segment)
      missing -= segment.fileSize
    }
    segments = yielded(segments)
    guard !segments.isEmpty else { return }
    files.remove(segments, mayReuse: false)
    files.freeSpace.refresh()
    logger.info(
      "the disk has too little room: the oldest delivered segments are no longer kept", about: catalog.directory,
      ["segments": .integer(segments.count)])
  }

  /// Lets segments go that have become old, or must make room. Done now and then.
  func lookAfterKept() {
    guard configuration.retain > .zero || monitor.withLock({ !pins.isEmpty }) else { return }
    free()
    files.monitor.withLock { makeDiskRoom() }
  }

  /// Remembers up to where everybody has settled everything, so that who begins anew is not owed what is only kept.
  /// Called with the files' lock held.
  func noteSettled() {
    guard configuration.retain > .zero else { return }
    let settled = Set(settledSegments().map(\.number))
    let end = catalog.all.prefix { settled.contains($0.number) }.last.map { segment in
      catalog.monitor.withLock { segment.endSequence }
    }
    guard let end, end > monitor.withLock({ settledThrough }) else { return }
    do throws(DiskError) {
      try RetainedMark.write(end, catalog.directory, catalog.disk)
      monitor.withLock { settledThrough = end }
    } catch {
      logger.warning(
        "it can't be noted which segments are only kept for replay", about: catalog.directory,
        ["why": .text(error.description)])
    }
  }

  /// Where a destination begins that is owed all that waits in the log: not with what is only kept for replay.
  var oldestOwed: UInt64 {
    let (oldest, end) = catalog.monitor.withLock {
      (catalog.segments.first?.firstSequence ?? catalog.publishedEnd, catalog.publishedEnd)
    }
    return min(max(oldest, settledThrough), end)
  }

  /// Keeps what is in the log from a number on from going for its age or for being delivered, as long as nobody needs the
  /// room.
  func pin(from sequence: UInt64) -> Int {
    monitor.withLock {
      defer { nextPin += 1 }
      pins[nextPin] = sequence
      return nextPin
    }
  }

  func movePin(_ pin: Int, to sequence: UInt64) {
    monitor.withLock { if pins[pin] != nil { pins[pin] = sequence } }
  }

  func unpin(_ pin: Int) {
    monitor.withLock { pins[pin] = nil }
    free()
  }
}
