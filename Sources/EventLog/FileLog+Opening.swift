import Clocks
import Observability

extension FileLog {
  /// Opens the log, making its directories when they aren't there.
  ///
  /// - Parameters:
  ///   - directory: where the segments lie.
  ///   - positions: where the destinations' records lie.
  ///   - replays: where the queues of events that are sent again lie; nil: there are none.
  ///   - awaitsDestinations: nothing that is finished goes before ``destinationsAreThere()`` is called, since a destination whose
  ///     record is gone may still come.
  /// - Throws: ``LogError`` when a directory can't be used, or when a newer program wrote what is in it.
  public static func open(
    directory: String, positions: String, replays: String? = nil, configuration: FileLogConfiguration,
    awaitsDestinations: Bool = false, disk: any Disk = RealDisk(), clock: WallClock = .system, logger: Logger,
    metrics: MetricsRegistry
  ) throws(LogError) -> FileLog {
    try open(
      directory: directory, positions: positions, replays: replays, configuration: configuration,
      disk: disk, awaitsDestinations: awaitsDestinations, clock: clock, logger: logger, metrics: metrics,
      tuning: FileLogTuning())
  }

  static func open(
    directory: String, positions: String, replays: String? = nil, configuration: FileLogConfiguration,
    disk: any Disk, awaitsDestinations: Bool = false, clock: WallClock, logger: Logger, metrics: MetricsRegistry,
    tuning: FileLogTuning
  ) throws(LogError) -> FileLog {
    try asLogError { () throws(DiskError) in
      try disk.makeDirectory(directory)
      try disk.makeDirectory(positions)
      // A process that was killed may have made or renamed what is found here, and not synced it. From here on it is gone by:
      // events are answered whose segment must not lose its name, and segments go that a position has done with.
      try disk.syncDirectory(directory)
      try disk.syncDirectory(positions)
    }
    let store = PositionStore(directory: positions, disk: disk, logger: logger)
    let records = try store.readAll()
    let known = records.compactMap { if case .record(let record) = $0.1 { record } else { nil } }

    let names = AppTable()
    var opening = LogOpening(
      directory: directory, disk: disk, names: names, logger: logger,
      segmentSize: configuration.effectiveSegmentSize, sparesMax: tuning.sparesMax,
      floor: known.map(\.through).max() ?? 0, acceptedFloor: known.map(\.logAccepted).max() ?? 0)
    opening.holdsReplays = tuning.holdsReplays
    opening.unsettledFrom = tuning.unsettledFrom
    try opening.run()

    let freeSpace = FreeSpace(path: directory, minimum: configuration.minFreeDisk, disk: disk)
    let catalog = SegmentCatalog(
      directory: directory, disk: disk, names: names, logger: logger, segments: opening.segments,
      publishedEnd: opening.nextSequence, acceptedEvents: opening.acceptedEvents)
    let files = SegmentFiles(
      catalog: catalog, segmentSize: configuration.effectiveSegmentSize, freeSpace: freeSpace, clock: clock,
      logger: logger, tuning: tuning, spares: opening.spares, nextNumber: opening.nextNumber)
    mendFooters(opening.unfooted, files, logger)

    let keeper = LogKeeper(files: files, store: store, configuration: configuration, logger: logger, metrics: metrics)
    keeper.awaitsDestinations = awaitsDestinations
    let corruptRecords = metrics.counter(
      "event_relay_log_corrupt_records_total", "Records of the log whose checksums are wrong.")
    corruptRecords.add(opening.corruptRecords)
    let writer = makeWriter(opening, configuration, tuning, freeSpace, names, logger, metrics, keeper)
    keeper.writer = writer
    let context = LogReadingContext(catalog: catalog) { segment, entry in
      guard catalog.reportDamage(segment, offset: entry.offset) else { return }
      corruptRecords.add()
      tellDamage(
        segment.path, offset: entry.offset, lost: entry.first(in: segment)..<entry.last(in: segment) + 1, logger)
    }
    let log = try FileLog(
      keeper: keeper, writer: writer, freeSpace: freeSpace, corruptRecords: corruptRecords, context: context,
      tuning: tuning, logger: logger, newestRecordAtStart: opening.newestReceivedAt, tornWrites: opening.tornWrites,
      replays: replays.map {
        ReplayQueues(
          directory: $0, disk: disk, minFreeDisk: configuration.minFreeDisk, clock: clock, logger: logger,
          isInline: tuning.isInline)
      })
    try log.takeUp(records)
    log.register(metrics)
    let found = log.statistics
    logger.info(
      "the log is open", about: directory,
      [
        "segments": .integer(found.segments), "bytes": .integer(found.sizeBytes),
        "next": .integer(Int(found.nextSequence)),
      ])
    return log
  }

  /// All destinations have subscribed: what everybody has settled may go.
  public func destinationsAreThere() {
    keeper.monitor.withLock { keeper.awaitsDestinations = false }
    keeper.free()
  }

  private static func mendFooters(
    _ unfooted: [LogWriter.ActiveSegment], _ files: SegmentFiles, _ logger: Logger
  ) {
    for segment in unfooted {
      do throws(DiskError) {
        try files.seal(segment)
      } catch {
        // What was found by reading the segment through stays in memory.
        files.catalog.update(segment.segment) { $0.isSealed = true }
        logger.warning(
          "a segment's footer can't be written", about: segment.segment.path, ["why": .text(error.description)])
      }
    }
  }

  private static func makeWriter(
    _ opening: LogOpening, _ configuration: FileLogConfiguration, _ tuning: FileLogTuning, _ freeSpace: FreeSpace,
    _ names: AppTable, _ logger: Logger, _ metrics: MetricsRegistry, _ keeper: LogKeeper
  ) -> LogWriter {
    var given = LogWriter.Given()
    if let active = opening.active {
      given.end = active.segment.dataEnd
      given.frames = active.segment.directory?.frames ?? 0
      given.apps = Set(active.segment.allShares.map(\.app))
    }
    let writer = LogWriter(
      configuration: configuration, tuning: tuning, freeSpace: freeSpace, names: names, logger: logger,
      metrics: metrics, active: opening.active, given: given, nextSequence: opening.nextSequence)
    writer.failure = opening.failure
    writer.effects = LogWriter.Effects(
      publish: { keeper.publish($0, $1) }, wake: { keeper.wake() }, roll: { keeper.roll($0, at: $1) },
      leaveSign: {
        _ = try? keeper.catalog.disk.open("\(keeper.catalog.directory)/\(SegmentName.failureSign)", .create)
      })
    return writer
  }

  /// Takes up every destination that has a record.
  private func takeUp(_ records: [(destination: String, PositionStore.Found)]) throws(LogError) {
    for (destination, found) in records {
      switch found {
      case .unreadable(let error): keeper.setUnreadable(destination, error)
      case .record(let record):
        try keeper.add { () throws(LogError) in try subscription(record, isNew: false) }
      case .damaged:
        var record = PositionRecord(destination: destination, through: keeper.oldestOwed)
        record.countersSince = files.clock.now
        try keeper.add { () throws(LogError) in
          let subscription = try subscription(record, isNew: true)
          try subscription.writeFirstRecord()
          return subscription
        }
      }
    }
    keeper.free()
  }

  func subscription(_ record: PositionRecord, isNew: Bool) throws(LogError) -> FileSubscription {
    try FileSubscription(
      record, isNew: isNew, context: context, store: keeper.store, tuning: tuning, logger: logger,
      didCommit: { [weak keeper] in keeper?.free() }, didDiscard: { [weak keeper] in keeper?.remove($0) })
  }
}
