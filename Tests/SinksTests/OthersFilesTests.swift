import Clocks
import DeadLetters
import EventLog
import Foundation
import Glibc
import JSON
import Observability
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("Files that fit a sink's pattern", .timeLimit(.minutes(1)))
struct OthersFilesTests {
  private let directory = TemporaryDirectory()
  private var bench: FileLogBench { FileLogBench(directory: directory) }
  private let time = Timestamp(milliseconds: 1_792_757_071_512)

  private func run(_ worker: NDJSONWorker) {
    while worker.step(now: .now, settles: true) == .again {}
    #expect(worker.condition.failure == nil)
  }

  private func store(_ serials: ClosedRange<Int>, in log: FileLog) async {
    for serial in serials { await log.store([#"{"serial":\#(serial)}"#], app: "app-\(serial % 2)", at: time) }
  }

  private func write(_ name: String) throws {
    let path = directory.file(name)
    try FileManager.default.createDirectory(
      atPath: FileSystem.parent(of: path), withIntermediateDirectories: true)
    #expect(FileManager.default.createFile(atPath: path, contents: Data()))
  }

  private func serials(_ names: [String]) throws -> [Int] {
    try names.flatMap { name in
      try readLines(directory.file(name)).map { try JSONValue(parsing: $0)["event"]?["serial"]?.integer() ?? -1 }
    }.sorted()
  }

  /// Another sink of this relay; sinks of another one, whose apps may have the same names.
  @Test(
    "and are somebody else's cost no event, whether they are open or not",
    arguments: [("out/all.ndjson", "r-1"), ("out/%app.ndjson", "r-2"), ("out/app.ndjson", "r-2")], [true, false])
  func others(_ other: (pattern: String, relay: String), staysOpen: Bool) async throws {
    var log = try bench.open()
    let pattern = "out/%app.ndjson"
    _ = try log.subscribe("mine", origin: .oldest)
    await store(1...20, in: log)
    let first = try bench.worker(of: log, "other", pattern: other.pattern, relay: other.relay)
    run(first)
    first.finish()
    log.close()
    // The one is further than the other when both die.
    log = try bench.open()
    let theirs = staysOpen ? try bench.worker(of: log, "other", pattern: other.pattern, relay: other.relay) : nil
    if let theirs { run(theirs) }
    let mine = try bench.worker(of: log, "mine", pattern: pattern)
    run(mine)
    #expect(mine.subscription.ledger.settled == Tally(.delivered, 20))
    mine.finish()
    theirs?.finish()
    log.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.file("out"))
    let lines = try names.flatMap { try readLines(directory.file("out/\($0)")).map { try JSONValue(parsing: $0) } }
    #expect(lines.count == 40)
    for serial in 1...20 {
      #expect(lines.count { $0["event"]?["serial"]?.integer() == serial } == 2)
    }
  }

  @Test("in a directory that can't be read don't keep it from starting; a directory that can't be read for now does")
  func unreadable() async throws {
    let log = try FileLogBench(directory: directory).open()
    await store(1...4, in: log)
    try write("out/private/file")
    let path = directory.file("out/private")
    let system = FileSystem { operation, at in operation == .list && at == path ? EACCES : 0 }
    let mine = try bench.worker(of: log, "mine", pattern: "out/%app/all.ndjson", system: system)
    run(mine)
    #expect(try serials(["out/app-0/all.ndjson", "out/app-1/all.ndjson"]) == Array(1...4))
    mine.finish()
    let full = FileSystem { operation, at in operation == .list && at.hasSuffix("/out") ? EMFILE : 0 }
    let late = try bench.worker(of: log, "late", pattern: "out/%app/all.ndjson", system: full)
    _ = late.step(now: .now, settles: true)
    #expect(late.condition.failure?.contains("raise the limit of open files") == true)
    log.close()
  }

  @Test("and whose time is over aren't looked for, nor their directories")
  func walk() throws {
    for name in ["2024/01/a.ndjson", "2026/09/a.ndjson", "2026/10/a.ndjson", "2026/11/a.1.ndjson"] {
      try write("out/\(name)")
    }
    let old = directory.file("out/2024")
    let system = FileSystem { operation, path in operation == .list && path.hasPrefix(old) ? EIO : 0 }
    let files = PatternFiles(try PathPattern(directory.file("out/%Y/%m/a.ndjson")), after: time, on: system)
    #expect(files.errors.isEmpty)
    #expect(
      files.found.map(\.path).sorted() == ["10/a.ndjson", "11/a.1.ndjson"].map { directory.file("out/2026/\($0)") })
  }
}
