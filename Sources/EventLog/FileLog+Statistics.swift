import Clocks
import Observability

extension FileLog {
  public var health: LogHealth {
    let (failure, isClosed, blocked, noSpaceUntil) = writer.monitor.withLock {
      (writer.failure, writer.isClosed, writer.blocked, writer.noSpaceUntil)
    }
    if let failure { return .failed(detail: failure) }
    if isClosed { return .closed }
    if freeSpace.isLow {
      return .diskFull(
        detail: "\(freeSpace.availableBytes) bytes are free where \(freeSpace.path) lies, and log.min_free_disk is "
          + "\(freeSpace.minimum): free some space")
    }
    if let noSpaceUntil, ContinuousClock.now < noSpaceUntil {
      return .diskFull(detail: "the disk of \(freeSpace.path) is full: free some space")
    }
    switch blocked?.refusal {
    case .logFull: return .full
    case .diskFull:
      if let until = blocked?.until, ContinuousClock.now >= until { return .ok }
      return .diskFull(detail: "no segment can be made in \(freeSpace.path): free some space")
    default: return .ok
    }
  }

  public var statistics: LogStatistics {
    let dropped = keeper.droppedEvents.value
    let waiting = writer.waitingSince
    let spares = files.spareCount
    let retained = keeper.retainedBytes
    return catalog.monitor.withLock {
      let holding = catalog.segments.filter { !$0.isEmpty }
      let size = holding.reduce(0) { $0 + ($1.isSealed ? $1.fileSize : $1.dataEnd) }
      return LogStatistics(
        sizeBytes: size, maxSizeBytes: keeper.configuration.maxSize, segments: holding.count, spareSegments: spares,
        oldestSequence: holding.first?.firstSequence ?? catalog.publishedEnd, nextSequence: catalog.publishedEnd,
        oldestReceivedAt: holding.first?.share(of: .all)?.receivedAt.earliest,
        acceptedEvents: catalog.acceptedEvents, droppedEvents: dropped, corruptRecords: corruptRecords.value,
        appendWaitingSince: waiting, retainedBytes: retained)
    }
  }

  func register(_ metrics: MetricsRegistry) {
    metrics.gauge("event_relay_log_size_bytes", "Bytes of the segments that hold something.") { [catalog] in
      Double(catalog.sizeBytes)
    }
    metrics.gauge("event_relay_log_retained_bytes", "Bytes of those that are kept for replay alone.") { [keeper] in
      Double(keeper.retainedBytes)
    }
    metrics.gauge("event_relay_log_segments", "Segments that hold something.") { [catalog] in
      Double(catalog.all.count { segment in catalog.monitor.withLock { !segment.isEmpty } })
    }
  }
}
