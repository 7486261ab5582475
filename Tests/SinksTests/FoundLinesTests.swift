import Clocks
import DeadLetters
import EventLog
import Foundation
import JSON
import Observability
import TestSupport
import Testing

@testable import Sinks

@Suite("Lines that a sink had written and not settled when it died, and whose events the log has lost since")
struct FoundLinesTests {
  private let directory = TemporaryDirectory()
  private let time = Timestamp(milliseconds: 1_792_757_071_512)
  private var bench: FileLogBench { FileLogBench(directory: directory) }

  private func serials() throws -> [Int] {
    try readLines(directory.file("events/all.ndjson")).map { try JSONValue(parsing: $0) }
      .compactMap { $0["event"]?["serial"]?.integer(as: Int.self) }
  }

  @Test("stay, and are counted as delivered, once, whenever the sink dies again", arguments: [false, true])
  func found(diesAgain: Bool) async throws {
    var log = try bench.open()
    for serial in 1...60 {
      await log.store([#"{"serial":\#(serial),"text":"\#(String(repeating: "x", count: 400))"}"#], app: "ios", at: time)
    }
    var sink: NDJSONWorker? = try bench.worker(of: log, pattern: "events/all.ndjson")
    // Written, and nothing acknowledged: the first second isn't over.
    let now = ContinuousClock.now
    while sink?.step(now: now, settles: false) == .again {}
    #expect(try serials() == Array(1...60))
    sink = nil
    log.close()
    let segments = try FileManager.default.contentsOfDirectory(atPath: directory.file("log")).filter {
      $0.hasPrefix("segment-")
    }.sorted()
    try #require(segments.count > 3)
    try FileManager.default.removeItem(atPath: directory.file("log/\(segments[1])"))
    for life in 0..<(diesAgain ? 3 : 1) {
      log = try bench.open()
      sink = try bench.worker(of: log, pattern: "events/all.ndjson")
      let before = try #require(sink?.subscription.ledger)
      #expect(before.settled[.lost] > 0 && before.isBalanced)
      if life < 2, diesAgain {
        // It has looked at its files, and dies before that is committed.
        try sink?.recover()
      } else {
        while sink?.step(now: .now, settles: true) == .again {}
        sink?.finish()
        let ledger = try #require(sink?.subscription.ledger)
        #expect(ledger.settled.counts == [.delivered: 60] && ledger.isBalanced)
      }
      sink = nil
      log.close()
      #expect(try serials() == Array(1...60))
    }
    // What was found is on record.
    log = try bench.open()
    #expect(
      try bench.worker(of: log, pattern: "events/all.ndjson").subscription.ledger.settled.counts == [.delivered: 60])
    log.close()
  }
}
