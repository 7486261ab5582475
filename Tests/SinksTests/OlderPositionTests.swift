import Clocks
import DeadLetters
import EventLog
import Foundation
import JSON
import Observability
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("A position that was put back from an older copy", .timeLimit(.minutes(1)))
struct OlderPositionTests {
  private let directory = TemporaryDirectory()
  private let time = Timestamp(milliseconds: 1_792_757_071_512)

  private var bench: FileLogBench { FileLogBench(directory: directory) }

  private func append(_ serial: Int, at moment: Timestamp, to log: FileLog) async {
    await log.store(
      [#"{"serial":\#(serial),"text":"\#(String(repeating: "x", count: 400))"}"#], app: "app-\(serial % 2)", at: moment)
  }

  private func run(_ worker: NDJSONWorker) {
    while worker.step(now: .now, settles: true) == .again {}
    #expect(worker.condition.failure == nil)
  }

  /// All lines' events, in the order of their numbers.
  private func serials() throws -> [Int] {
    let paths = FileManager.default.enumerator(atPath: directory.file("events"))?.compactMap { $0 as? String } ?? []
    let lines = try paths.filter { $0.hasSuffix(".ndjson") }.flatMap { path in
      try readLines(directory.file("events/\(path)")).map { try JSONValue(parsing: $0) }
    }
    return lines.compactMap { $0["event"]?["serial"]?.integer(as: Int.self) }.sorted()
  }

  /// One file all the time; files by size; files by size and hour; those of each app.
  @Test(
    "costs line files nothing and repeats nothing, whether the log has the events yet or not",
    arguments: [
      ("events/all.ndjson", 0), ("events/all.ndjson", 3000), ("events/%Y-%m-%d-%H.ndjson", 3000),
      ("events/%app/%Y-%m-%d-%H.ndjson", 5000),
    ], [true, false])
  func lineFiles(_ files: (pattern: String, size: Int), isHeld: Bool) async throws {
    let position = directory.file("positions/raw.json")
    var serial = 0
    var copies: [Data] = []
    for round in 0..<6 {
      let log = try bench.open()
      // Another that is owed everything keeps all of the log.
      if isHeld { _ = try log.subscribe("slow", origin: .oldest) }
      let worker = try bench.worker(of: log, pattern: files.pattern, size: files.size)
      for _ in 0..<12 {
        serial += 1
        await append(serial, at: time + .seconds(round * 1800), to: log)
        run(worker)
      }
      worker.finish()
      log.close()
      copies.append(try #require(FileManager.default.contents(atPath: position)))
      #expect(try serials() == Array(1...serial))
    }
    for copy in [copies[3], copies[0], copies[4]] {
      try copy.write(to: URL(fileURLWithPath: position))
      // It dies again and again, each time a step later, and never settles.
      for steps in 1...2 {
        let log = try bench.open()
        let worker = try bench.worker(of: log, pattern: files.pattern, size: files.size)
        for _ in 0..<steps { _ = worker.step(now: .now, settles: false) }
        log.close()
      }
      let log = try bench.open()
      let worker = try bench.worker(of: log, pattern: files.pattern, size: files.size)
      run(worker)
      serial += 1
      await append(serial, at: time + .seconds(5 * 1800 + 60), to: log)
      run(worker)
      let ledger = worker.subscription.ledger
      #expect(ledger.isBalanced && ledger.waiting == 0)
      worker.finish()
      log.close()
      #expect(try serials() == Array(1...serial))
    }
  }

  @Test("leaves dead letters whose events the log no longer has, and cuts off those that will come again")
  func deadLetters() throws {
    let store = DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent)
    func line(_ number: UInt64) -> RecordLines {
      let lines = RecordLines(relay: "r-1")
      let text = Array(#"{"n":1}"#.utf8)
      let index = EventIndex(
        idHigh: 1, idLow: 2, installHash: 3, userHash: 0, length: text.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: time, flags: [])
      let event = StoredEvent(
        sequence: number, index: index, kind: .event, dialect: 0, receivedAt: time, appIndex: 0, offset: 0)
      text.withUnsafeBytes { lines.append(event, app: "ios", bytes: $0) }
      return lines
    }
    _ = try store.prepare("upstream")
    let old = try store.append("upstream", lines: line(1))
    _ = try store.prepare("upstream")
    _ = try store.append("upstream", lines: line(2))
    store.close("upstream")
    #expect(try store.numbers(behind: old) == [2])
    try store.recover("upstream", mark: old, keepsLetters: true)
    #expect(readLines(old.path).count == 2)
    store.close("upstream")
    try store.recover("upstream", mark: old)
    #expect(readLines(old.path).count == 1)
  }

  @Test("half a line at the end of a file that it knows nothing of goes")
  func halfALine() throws {
    let whole = #"{"received_at":"2026-10-23T12:04:31.512Z","relay":"r","app":"a","kind":"event","seq":7,"event":{}}"#
    let path = directory.write("lines.ndjson", "\(whole)\n\(whole.dropLast(9))")
    let tail = try #require(try RecordTail.read(path, relay: "r"))
    #expect(tail.apps == ["a"] && tail.isWhole && !tail.isForeign)
    #expect(try RecordTail.read(path, relay: "other")?.isForeign == true)
    #expect(tail.sequences == [7] && tail.mark.length == whole.utf8.count + 1)
    #expect(try RecordFile.lastNumber(in: path) == 7)
    guard case .continued(_, let cut) = try RecordFile.reopen(tail.mark) else {
      Issue.record("it is the marked file")
      return
    }
    #expect(cut == whole.utf8.count - 9)
  }

  @Test("numbers in any order make ranges")
  func ranges() {
    var numbers = NumberRanges()
    numbers.add([5, 6, 7, 12])
    numbers.add([1, 8, 9, 3, 2, 6])
    #expect(numbers.ranges == [1...3, 5...9, 12...12])
  }
}
