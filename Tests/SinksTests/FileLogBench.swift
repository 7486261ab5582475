import Clocks
import DeadLetters
import EventLog
import Observability
import Records
import TestSupport
import Testing

@testable import Sinks

/// A log in files, small enough that it has many of them.
struct FileLogBench {
  let directory: TemporaryDirectory

  func open() throws -> FileLog {
    try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"),
      configuration: FileLogConfiguration(segmentSize: 8192, maxSize: 64 << 20, minFreeDisk: 0), logger: .silent,
      metrics: MetricsRegistry())
  }

  /// A sink of lines on it, without its thread.
  ///
  /// - Parameter size: bytes of a file; nil: as many as come.
  func worker(
    of log: FileLog, _ name: String = "raw", pattern: String, size: Int? = nil, relay: String = "r-1",
    system: FileSystem = .system
  ) throws -> NDJSONWorker {
    var options = NDJSONOptions(pattern: try PathPattern(directory.file(pattern)))
    if let size { options.rotation.size = size }
    options.retention = nil
    return NDJSONWorker(
      options,
      SinkContext(
        name: name, subscription: try log.subscribe(name, origin: .oldest), relay: relay,
        deadLetters: DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent),
        metrics: MetricsRegistry(), logger: .silent), system: system)
  }
}

extension FileLog {
  /// Appends a request's events and waits until they are stored.
  func store(_ texts: [String], app: String, at moment: Timestamp) async {
    let outcome = await withCheckedContinuation { continuation in
      var body: [UInt8] = []
      var events: [DraftEvent] = []
      for text in texts {
        let index = EventIndex(
          idHigh: 1, idLow: 2, installHash: 3, userHash: 0, length: text.utf8.count, nameOffset: 0,
          occurredAtOffset: 0, occurredAt: moment, flags: [])
        events.append(DraftEvent(index: index, offset: body.count))
        body += text.utf8
      }
      body.withUnsafeBytes { body in
        events.withUnsafeBufferPointer { events in
          let draft = FrameDraft(app: app, kind: .event, receivedAt: moment, body: body, events: events)
          append(draft) { continuation.resume(returning: $0) }
        }
      }
    }
    guard case .stored = outcome else {
      Issue.record("not stored: \(outcome)")
      return
    }
  }
}
