import Apps
import Clocks
import Configuration
import EventLog
import Observability

/// What the relay keeps on disk: the data directory under its lock, the log, the senders' keys, the audit trail.
final class Storage: Sendable {
  let directory: String
  let log: FileLog
  let apps: AppRegistry
  let audit: AuditTrail
  let suppression: SuppressionBook
  let freeSpace: FreeSpace
  private let dataDirectory: DataDirectory

  var instanceID: String { dataDirectory.instanceID }

  init(
    _ configuration: RelayConfiguration, _ surroundings: Surroundings, metrics: MetricsRegistry, logger: Logger
  ) throws {
    directory = configuration.dataDirectory
    dataDirectory = try DataDirectory.open(directory)
    log = try FileLog.open(
      directory: "\(directory)/log", positions: "\(directory)/positions", replays: "\(directory)/replays",
      configuration: FileLogConfiguration(configuration.log), awaitsDestinations: true, disk: surroundings.disk,
      clock: surroundings.clock, logger: logger, metrics: metrics)
    let now = surroundings.clock.now
    if let newest = log.newestRecordAtStart, newest > now {
      logger.warning(
        "the clock is before the newest event kept: no occurred_at is judged until it is past that",
        ["newest": .text(newest.description), "clock": .text(now.description)])
    }
    apps = try AppRegistry(
      apps: configuration.apps.map(AppDefinition.init), mode: configuration.ingest.keys == .any ? .any : .listed,
      storage: "\(directory)/keys", clock: surroundings.clock, logger: logger)
    audit = AuditTrail(directory: directory, clock: surroundings.clock)
    suppression = try SuppressionBook(
      directory: directory, files: surroundings.files, clock: surroundings.clock, logger: logger)
    freeSpace = FreeSpace(path: directory, minimum: configuration.log.minFreeDisk, disk: surroundings.disk)
  }

  /// Takes the limits of a log that is open: all but `durability` and `segment_size`.
  func setLimits(_ limits: RelayConfiguration.Log) {
    log.setLimits(from: FileLogConfiguration(limits))
    freeSpace.setMinimum(limits.minFreeDisk)
  }

  func close() {
    suppression.close()
    log.close()
    dataDirectory.close()
  }
}

extension FileLogConfiguration {
  init(_ log: RelayConfiguration.Log) {
    self.init(
      durability: log.durability == .fsync ? .fsync : .os, segmentSize: log.segmentSize, maxSize: log.maxSize,
      onFull: log.onFull == .reject ? .reject : .dropOldest, minFreeDisk: log.minFreeDisk,
      retain: log.retain)
  }
}
