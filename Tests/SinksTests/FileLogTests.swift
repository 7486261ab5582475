import Clocks
import DeadLetters
import EventLog
import JSON
import Observability
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("Line files of the file log", .timeLimit(.minutes(1)))
struct FileLogTests {
  private let directory = TemporaryDirectory()
  private let time = Timestamp(milliseconds: 1_792_757_071_512)

  private var bench: FileLogBench { FileLogBench(directory: directory) }

  private func context(_ name: String, of log: FileLog) throws -> SinkContext {
    SinkContext(
      name: name, subscription: try log.subscribe(name, origin: .oldest), relay: "r-1",
      deadLetters: DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent),
      metrics: MetricsRegistry(), logger: .silent)
  }

  private func options(_ name: String, size: Int = 0) throws -> NDJSONOptions {
    var options = NDJSONOptions(pattern: try PathPattern(directory.file("\(name)/%Y-%m-%d-%H.ndjson")))
    options.rotation.size = size
    options.retention = nil
    return options
  }

  /// A sink's lines in the order of its files' names and numbers.
  private func lines(_ name: String) throws -> [JSONValue] {
    try SinkBench.files(in: directory.file(name)).flatMap { file in
      try readLines(directory.file("\(name)/\(file)")).map { try JSONValue(parsing: $0) }
    }
  }

  @Test("hold every event once, in order, though relay and sinks die again and again")
  func crashes() async throws {
    var serial = 0
    for round in 0..<24 {
      let log = try bench.open()
      let workers = try [("a", 0), ("b", 4000)].map { name, size in
        NDJSONWorker(try options(name, size: size), try context(name, of: log))
      }
      for request in 0..<6 {
        let texts = (0..<5).map { _ in
          serial += 1
          return #"{"serial":\#(serial)}"#
        }
        await log.store(texts, app: "app-\(request % 3)", at: time + .seconds(Int64(round) * 600))
        for (index, worker) in workers.enumerated() where (request + round + index).isMultiple(of: 3) {
          run(worker, settles: request.isMultiple(of: 2))
        }
      }
      if round == 23 { for worker in workers { run(worker, settles: true) } }
      // The workers go as they are: neither stopped nor settled.
      log.close()
    }
    for name in ["a", "b"] {
      let lines = try lines(name)
      let sequences = lines.compactMap { $0["seq"]?.integer(as: Int.self) }
      #expect(lines.compactMap { $0["event"]?["serial"]?.integer(as: Int.self) } == Array(1...serial))
      #expect(sequences == Array(sequences[0]..<sequences[0] + serial))
    }
    #expect(SinkBench.files(in: directory.file("b")).count > SinkBench.files(in: directory.file("a")).count)
  }

  private func run(_ worker: NDJSONWorker, settles: Bool) {
    while worker.step(now: .now, settles: settles) == .again {}
    #expect(worker.condition.failure == nil)
  }

  @Test("are written by two sinks at once; the books balance")
  func twoSinks() async throws {
    let log = try bench.open()
    let sinks = try ["a", "b"].map { name in
      NDJSONSinkType().make(try options(name), try context(name, of: log))
    }
    for sink in sinks { sink.start() }
    for request in 0..<50 {
      await log.store((0..<100).map { #"{"serial":\#(request * 100 + $0)}"# }, app: "ios", at: time)
    }
    for sink in sinks {
      #expect(await sink.flush(until: .now + .seconds(30)).pending == 0)
      #expect(sink.status.ledger.isBalanced)
      #expect(sink.status.ledger.settled == Tally(.delivered, 5000))
    }
    for sink in sinks { await sink.stop(until: .now + .seconds(30)) }
    log.close()
    for name in ["a", "b"] {
      #expect(try lines(name).compactMap { $0["event"]?["serial"]?.integer(as: Int.self) } == Array(0..<5000))
    }
  }
}
