import Clocks
import JSON
import Observability

/// A log as it stands at one moment, with what each destination has had of it. Looks and changes nothing.
///
/// Made of the files, whether a relay runs on them or not (``read(_:)``), or of a running log's memory (``FileLog/view``).
/// Of a running relay's files the positions are read first: what is taken in while the segments are read counts as taken
/// in and as waiting alike, so that books stay balanced; only a segment that goes meanwhile can upset them. Then
/// ``isCurrent(_:)`` says that the destination has moved on, and it is to be looked at again.
public struct LogView: Sendable {
  let catalog: SegmentCatalog
  /// By name.
  public let destinations: [DestinationView]
  /// Records of positions that can't be used, a sentence each.
  public let unreadable: [String]
  /// The data directory; nil for a running log's memory.
  let directory: String?

  /// The number after the newest event.
  public var nextSequence: UInt64 { catalog.monitor.withLock { catalog.publishedEnd } }
  /// Events taken in since the data directory was made.
  public var acceptedEvents: UInt64 { catalog.monitor.withLock { catalog.acceptedEvents } }
  /// When the newest event in the log was received; nil without one.
  public var newestReceivedAt: Timestamp? { latest { $0.latestIfAny } }
  /// When the oldest event in the log was received; nil without one.
  public var oldestReceivedAt: Timestamp? {
    ranges.compactMap(\.earliestIfAny).min()
  }

  private var ranges: [TimeRange] {
    catalog.monitor.withLock { catalog.segments.compactMap { $0.share(of: .all)?.receivedAt } }
  }

  private func latest(_ of: (TimeRange) -> Timestamp?) -> Timestamp? { ranges.compactMap(of).max() }

  /// Whether the segments end before what a destination's position names, and where they end; nil when they don't.
  public var missingTail: (destination: String, through: UInt64, end: UInt64)? {
    let (end, isEmpty) = catalog.monitor.withLock { (catalog.publishedEnd, catalog.segments.isEmpty) }
    guard !isEmpty, let ahead = destinations.max(by: { $0.record.through < $1.record.through }),
      ahead.record.through > end
    else { return nil }
    return (ahead.name, ahead.record.through, end)
  }

  /// Whether a destination's record is still the one this was made of.
  public func isCurrent(_ destination: DestinationView) -> Bool {
    guard let directory, let now = try? LogViewReader(directory).record(of: destination.name) else { return false }
    return now == destination.record
  }
}

extension LogView {
  /// Reads the files of a data directory.
  ///
  /// - Throws: ``LogError`` when there is no log, it can't be read, or a newer program wrote it.
  public static func read(_ dataDirectory: String) throws(LogError) -> LogView {
    try LogViewReader(dataDirectory).read()
  }
}

extension FileLog {
  /// The log as it stands in memory: with what is acknowledged and not on disk yet.
  public var view: LogView {
    let queues = Dictionary(uniqueKeysWithValues: replayQueues.map { ($0.destination, $0) })
    let destinations = keeper.all.map { subscription -> DestinationView in
      // The queue's events before the destination's: what a crash would send again is never missing from both.
      let queue = queues[subscription.destination].map { queue in
        QueueView(
          catalog: queue.log.catalog, record: queue.subscription.snapshot().record, putBack: queue.putBack,
          unsettled: queue.unsettled?.stored ?? 0)
      }
      return DestinationView(record: subscription.snapshot().record, catalog: catalog, queue: queue)
    }
    return LogView(
      catalog: catalog, destinations: destinations.sorted { $0.name < $1.name }, unreadable: [], directory: nil)
  }
}
