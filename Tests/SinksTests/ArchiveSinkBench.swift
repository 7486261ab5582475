import Archive
import Clocks
import Configuration
import DeadLetters
import EventLog
import Foundation
import JSON
import Observability
import Records
import TestSupport

@testable import Sinks

/// An archive's worker over a log in memory, with a directory, a clock and faults of its own.
final class ArchiveSinkBench {
  let directory = TemporaryDirectory()
  let log = MemoryLog()
  private let clock = Fact(Timestamp(milliseconds: 1_792_757_071_512))
  /// The wall clock's: at first 2026-10-23T12:04:31.512Z.
  var time: Timestamp {
    get { clock.value }
    set { clock.change { $0 = newValue } }
  }
  /// The monotonic moment given to the next step.
  var now = ContinuousClock.now
  let faults = SinkBench.Faults()
  let isDiskLow = SinkBench.Flag()
  var options: ArchiveOptions
  var common = RelayConfiguration.Sink.Common()
  var relay = "r-1"
  let said = Fact<[String]>([])
  private(set) var worker: ArchiveWorker!

  init(size: Int = 0, every: Duration = .seconds(3600), retention: Duration? = nil) {
    options = ArchiveOptions(directory: directory.file("archive"))
    options.rotation = RotationOptions(size: size, every: every)
    options.retention = retention
    restart()
  }

  /// Begins anew from what was committed, as after a `kill -9`.
  func restart() {
    worker = nil
    let (faults, isDiskLow, clock, said) = (faults, isDiskLow, clock, said)
    let logger = Logger(level: .info, format: .text, clock: WallClock { clock.value }) { line in
      said.change { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    worker = ArchiveWorker(
      options,
      SinkContext(
        name: "audit", common: common, subscription: log.subscribe("audit"), relay: relay,
        deadLetters: DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent),
        isDiskLow: { isDiskLow.isSet }, clock: WallClock { clock.value },
        metrics: MetricsRegistry(), logger: logger),
      system: FileSystem { operation, _ in faults[operation] })
  }

  func add(_ count: Int = 1, at moment: Timestamp? = nil) {
    for _ in 0..<count { log.append(#"{"name":"a","n":\#(log.count)}"#, at: moment ?? time) }
  }

  /// Steps until there is nothing more to do at once; what is written is synced then when `settles`.
  @discardableResult
  func run(settles: Bool = true) -> SinkStep {
    while true {
      let next = worker.step(now: now, settles: settles)
      if next != .again { return next }
    }
  }

  /// Lets time pass, on both clocks, and the worker do what is due.
  func pass(_ duration: Duration) {
    now += duration
    time = time + duration
    run(settles: false)
  }

  var path: String { options.directory }

  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
  var published: [String] { names.filter { $0.hasSuffix(".ndjson.gz") } }
  var parts: [String] { names.filter { $0.hasSuffix(".ndjson.gz.part") } }

  func verify() throws -> ArchiveReport { try ArchiveVerification.verify(path) }

  /// The numbers of the published events, in their order.
  func sequences(in path: String? = nil) throws -> [UInt64] {
    var out: [UInt64] = []
    try ArchiveReader(directory: path ?? self.path).forEachLine { _, line in
      out.append((try? JSONValue(parsing: line))?["seq"]?.integer() ?? 0)
      return true
    }
    return out
  }
}
