import Clocks
import Configuration
import DeadLetters
import EventLog
import Observability
import Records
import Sinks

/// Makes configured sinks, each with its own view of the log.
struct SinkFactory: Sendable {
  let storage: Storage
  let deadLetters: DeadLetterStore
  let clock: WallClock
  let files: FileSystem
  let metrics: MetricsRegistry
  let logger: Logger
  let userAgent: String
  /// Files of each sink with one file an app.
  let lineFiles: OpenFileShare

  /// A sink, not started yet. One whose place in the log is known goes on there; else it begins with the newest event.
  func make(_ sink: RelayConfiguration.Sink) throws(LogError) -> any Destination {
    let storage = storage
    let context = SinkContext(
      name: sink.name, common: sink.common, subscription: try storage.log.subscribe(sink.name, origin: .newest),
      relay: storage.instanceID, deadLetters: deadLetters, isDiskLow: { storage.freeSpace.isLow },
      openFilesMax: { [lineFiles] in lineFiles.count },
      clock: clock, files: files, metrics: metrics, logger: logger, userAgent: userAgent)
    return SinkRegistry.make(sink, context)
  }
}
