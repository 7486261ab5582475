import Clocks
import Configuration
import DeadLetters
import EventLog
import Foundation
import JSON
import Observability
import Records
import Synchronization
import TestSupport

@testable import Sinks

/// A sink's worker over a log in memory, with a directory, a clock and faults of its own.
final class SinkBench {
  let directory = TemporaryDirectory()
  let log = MemoryLog()
  /// 2026-10-23T12:04:31.512Z
  var time = Timestamp(milliseconds: 1_792_757_071_512)
  /// The monotonic moment given to the next step.
  var now = ContinuousClock.now
  let faults = Faults()
  let isDiskLow = Flag()
  var options: NDJSONOptions
  var common = RelayConfiguration.Sink.Common()
  private(set) var worker: NDJSONWorker!

  /// The calls that fail, and with what.
  final class Faults: Sendable {
    private let codes = Mutex<[FileError.Operation: Int32]>([:])
    subscript(_ operation: FileError.Operation) -> Int32 {
      get { codes.withLock { $0[operation] ?? 0 } }
      set { codes.withLock { $0[operation] = newValue } }
    }
    func clear() { codes.withLock { $0 = [:] } }
  }

  final class Flag: Sendable {
    private let flag = Atomic<Bool>(false)
    var isSet: Bool {
      get { flag.load(ordering: .relaxed) }
      set { flag.store(newValue, ordering: .relaxed) }
    }
  }

  init(
    path: String = "%Y/%m/%d/%H.ndjson", size: Int = 0, every: Duration = .seconds(3600), retention: Duration? = nil
  ) {
    options = NDJSONOptions(pattern: try! PathPattern("\(directory.path)/\(path)"))
    options.rotation = RotationOptions(size: size, every: every)
    options.retention = retention
    restart()
  }

  static let openFilesMax = 16

  /// Begins anew from what was committed, as after a `kill -9`.
  func restart() {
    worker = nil
    let (faults, isDiskLow, time) = (faults, isDiskLow, time)
    worker = NDJSONWorker(
      options,
      SinkContext(
        name: "raw", common: common, subscription: log.subscribe(), relay: "r-1",
        deadLetters: DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent),
        isDiskLow: { isDiskLow.isSet }, openFilesMax: { Self.openFilesMax }, clock: WallClock { time },
        metrics: MetricsRegistry(), logger: .silent),
      system: FileSystem { operation, _ in faults[operation] })
  }

  @discardableResult
  func add(_ count: Int = 1, at moment: Timestamp? = nil) -> UInt64 {
    for _ in 1..<max(count, 1) { log.append(#"{"a":1}"#, at: moment ?? time) }
    return log.append(#"{"a":1}"#, at: moment ?? time)
  }

  /// Steps until there is nothing more to do at once; what is written is synced then when `settles`.
  @discardableResult
  func run(settles: Bool = true) -> SinkStep {
    while true {
      let next = worker.step(now: now, settles: settles)
      if next != .again { return next }
    }
  }

  var files: [String] {
    let all = FileManager.default.enumerator(atPath: directory.path)?.compactMap { $0 as? String } ?? []
    return all.filter { FileManager.default.contents(atPath: directory.file($0)) != nil && !isDirectory($0) }.sorted()
  }

  private func isDirectory(_ name: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: directory.file(name), isDirectory: &isDirectory)
      && isDirectory.boolValue
  }

  /// The sequence numbers in a file, in its order; -1 for what is no whole record.
  func sequences(_ file: String) -> [Int] {
    let bytes = readFile(directory.file(file)) ?? []
    if bytes.isEmpty { return [] }
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let hasEnd = lines.removeLast().isEmpty
    return lines.map { (try? JSONValue(parsing: Array($0)))?["seq"]?.integer() ?? -1 } + (hasEnd ? [] : [-1])
  }

  /// The sequence numbers in all files, sorted.
  var allSequences: [Int] { files.flatMap(sequences).sorted() }

  /// Whether every event is in the files, each once.
  var isExact: Bool { allSequences == Array(1...max(1, log.count)) }

  func move(_ from: String, _ to: String) { rename(directory.file(from), directory.file(to)) }
  func delete(_ name: String) { try? FileManager.default.removeItem(atPath: directory.file(name)) }
}

extension SinkBench {
  /// The files of a directory in the order they were written: by name, and one name's by number.
  static func files(in directory: String) -> [String] {
    func key(_ name: String) -> (String, Int) {
      let parts = name.split(separator: ".")
      return (String(parts[0]), parts.count > 2 ? Int(parts[1]) ?? 0 : 0)
    }
    return ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted { key($0) < key($1) }
  }
}

extension NDJSONWorker {
  /// The files it has open, by app.
  var openFiles: [RecordFile] { (files ?? [:]).sorted { $0.key < $1.key }.compactMap { $0.value.current?.open } }
}
