import Clocks
import Observability
import Synchronization

/// Keeps segments and destinations together: shows new events to readers, opens the next segment, frees finished ones.
///
/// `@unchecked`: what changes is guarded by `monitor`. Locks are taken in this order: the files', a subscription's
/// commit lock, `monitor`, a subscription's own, the catalog's.
final class LogKeeper: @unchecked Sendable {
  let files: SegmentFiles
  let catalog: SegmentCatalog
  let store: PositionStore
  private let limits: Mutex<FileLogConfiguration>
  let logger: Logger
  let droppedEvents: Counter
  weak var writer: LogWriter?

  let monitor = Monitor()
  private(set) var subscriptions: [String: FileSubscription] = [:]
  /// Destinations whose record can't be read: nothing is freed while there is one.
  private(set) var unreadable: [String: LogError] = [:]
  /// Not all destinations have come yet: one whose record is gone is owed what the others have settled.
  var awaitsDestinations = false
  /// Counts destinations that came.
  private var arrivals = 0
  /// From which number on somebody reads all that is there, by who it is.
  var pins: [Int: UInt64] = [:]
  var nextPin = 0
  /// The number after the last event that everybody had settled in front of anything owed, as is on disk.
  var settledThrough: UInt64

  init(
    files: SegmentFiles, store: PositionStore, configuration: FileLogConfiguration, logger: Logger,
    metrics: MetricsRegistry
  ) {
    self.files = files
    catalog = files.catalog
    self.store = store
    limits = Mutex(configuration)
    self.logger = logger
    settledThrough = RetainedMark.read(catalog.directory, catalog.disk, logger)
    droppedEvents = metrics.counter(
      "event_relay_log_dropped_events_total",
      "Events dropped because the log was full, for each destination that was still owed them.")
  }

  var configuration: FileLogConfiguration { limits.withLock { $0 } }

  /// Takes other limits, from now on; what is kept or dropped by them is seen to at once.
  func setLimits(_ change: (inout FileLogConfiguration) -> Void) {
    limits.withLock { change(&$0) }
    files.freeSpace.setMinimum(configuration.minFreeDisk)
    free()
    // Who waits for room looks again.
    writer?.roomWasMade()
  }

  // MARK: Destinations

  var destinations: [String] {
    monitor.withLock { (Array(subscriptions.keys) + Array(unreadable.keys)).sorted() }
  }

  /// In the order of their names.
  var all: [FileSubscription] {
    monitor.withLock { subscriptions.values.sorted { $0.destination < $1.destination } }
  }

  func setUnreadable(_ destination: String, _ error: LogError) {
    monitor.withLock { unreadable[destination] = error }
  }

  /// Adds a destination that `make` makes; no sync is shown to anyone meanwhile, so that it misses none.
  func add(_ make: () throws(LogError) -> FileSubscription) throws(LogError) {
    try monitor.withLock { () throws(LogError) in
      let subscription = try make()
      subscriptions[subscription.destination] = subscription
      arrivals += 1
    }
  }

  func remove(_ subscription: FileSubscription) {
    monitor.withLock { subscriptions[subscription.destination] = nil }
    free()
  }

  /// The destination's subscription for whoever asks first; nil when there is no record of it.
  func take(_ destination: String) throws(LogError) -> FileSubscription? {
    try monitor.withLock { () throws(LogError) in
      if let error = unreadable[destination] { throw error }
      guard let subscription = subscriptions[destination] else { return nil }
      let isFirst = subscription.monitor.withLock {
        defer { subscription.isTaken = true }
        return !subscription.isTaken
      }
      guard isFirst else {
        throw LogError(
          "destination \(destination) is in use already: two sinks must not have one name (nor the upstream's)")
      }
      return subscription
    }
  }

  /// What is owed to whom as far as is on disk, and how many destinations had come by then; nil when that isn't known.
  func commitments() -> (records: [PositionRecord], arrivals: Int)? {
    monitor.withLock {
      guard unreadable.isEmpty, !awaitsDestinations, !subscriptions.isEmpty else { return nil }
      return (subscriptions.values.map { one in one.monitor.withLock { one.committed } }, arrivals)
    }
  }

  /// Does something while no destination can come, if none has since.
  func ifNobodyCame<Failure: Error>(since arrivals: Int, _ body: () throws(Failure) -> Bool) throws(Failure) -> Bool {
    try monitor.withLock { () throws(Failure) in self.arrivals == arrivals ? try body() : false }
  }

  /// The most that any destination is owed of a segment, as far as is on disk; nil when all of it may be.
  func owedMost(of segment: Segment, end: UInt64) -> Int? {
    var most = 0
    for subscription in all {
      let owed: Int? = subscription.monitor.withLock {
        // (The rest it gives up before the segment is written anew.)
        if let yielding = subscription.yielding { return yielding.held[segment.number, default: 0] }
        return end <= subscription.committed.through ? subscription.committedOwed[segment.number, default: 0] : nil
      }
      guard let owed else { return nil }
      most = max(most, owed)
    }
    return most
  }

  // MARK: The writer's effects

  func publish(_ batch: StagingBuffer, _ segment: Segment) {
    monitor.withLock {
      catalog.publish(batch.notes, in: segment, dataEnd: batch.range.upperBound)
      for subscription in subscriptions.values { subscription.inbox.add(batch.notes, segment: segment.number) }
    }
  }

  func wake() {
    for subscription in all { subscription.callWake() }
  }

  /// Seals the active segment and opens the next, making room for it first where that is allowed.
  func roll(_ active: LogWriter.ActiveSegment?, at time: Timestamp) -> LogWriter.RollOutcome {
    files.monitor.withLock {
      do throws(DiskError) {
        if let active { try files.seal(active) }
      } catch {
        // After a failed sync, for want of space too, nobody knows whether the footer is there: nothing may follow it.
        let mayGoOn = error.isOutOfSpace && error.operation != .sync
        return mayGoOn ? .blocked(.diskFull, stays: active) : .failed(error.description)
      }
      if let refusal = makeRoom() { return .blocked(refusal, stays: nil) }
      return open(at: time)
    }
  }

  private func open(at time: Timestamp) -> LogWriter.RollOutcome {
    while true {
      let (end, accepted) = catalog.monitor.withLock { (catalog.publishedEnd, catalog.acceptedEvents) }
      do throws(DiskError) {
        return .opened(
          try files.open(
            firstSequence: end, previousEnd: catalog.lastEnd ?? end, acceptedBefore: accepted, createdAt: time))
      } catch {
        if error.isOutOfSpace, error.operation != .sync, let kept = yielded(Array(settledSegments().prefix(1))).first {
          files.remove([kept], mayReuse: false)
          continue
        }
        logger.error("no new segment can be made", about: catalog.directory, ["why": .text(error.description)])
        return error.operation == .sync ? .failed(error.description) : .blocked(.diskFull, stays: nil)
      }
    }
  }

  /// Whether one more segment may be made; drops the oldest ones for it when so configured.
  private func makeRoom() -> AppendRefusal? {
    files.remove(yielded(freeSegments()))
    makeDiskRoom()
    if files.freeSpace.isLow && files.spares.isEmpty { return .diskFull }
    while catalog.sizeBytes + files.segmentSize > configuration.maxSize {
      // What is only kept for replay goes first.
      if let kept = yielded(Array(settledSegments().prefix(1))).first {
        files.remove([kept])
        continue
      }
      guard configuration.onFull == .dropOldest, let oldest = catalog.all.first(where: \.isSealed) else {
        return .logFull
      }
      do throws(DiskError) {
        try drop(oldest)
      } catch {
        logger.error(
          "the log is full, and its oldest segment can't be dropped since positions can't be written",
          ["why": .text(error.description)])
        // Tried again by itself: nothing that is acknowledged would say when.
        return .diskFull
      }
    }
    return nil
  }

  // MARK: Letting segments go

  /// Recycles every finished segment that no destination is owed anything of, and that isn't kept for replay.
  func free() {
    let count = files.monitor.withLock {
      noteSettled()
      let segments = yielded(freeSegments())
      files.remove(segments)
      return segments.count
    }
    if count > 0 { writer?.roomWasMade() }
  }

  /// Drops a segment with what is still owed of it: first in every destination's record, then in memory, then the file.
  private func drop(_ segment: Segment) throws(DiskError) {
    var total = 0
    for subscription in all { total += try subscription.drop(segment) }
    files.remove([segment])
    droppedEvents.add(total)
    logger.warning(
      "the log is full: its oldest segment was dropped", about: segment.path,
      [
        "first": .integer(Int(segment.firstSequence)), "last": .integer(Int(segment.endSequence) - 1),
        "owed": .integer(total),
      ])
  }
}
