import Clocks
import DeadLetters
import Dispatch
import EventLog
import Foundation
import Observability
import Records
import TestSupport
import Testing

@testable import Sinks

@Suite("A started sink of line files", .timeLimit(.minutes(1)))
struct NDJSONSinkTests {
  private let directory = TemporaryDirectory()
  private let log = MemoryLog()
  private let time = Timestamp(milliseconds: 1_792_757_071_512)

  private func make(_ path: String = "%H.ndjson", low: SinkBench.Flag = .init()) throws -> any Destination {
    NDJSONSinkType().make(
      NDJSONOptions(pattern: try PathPattern(directory.file(path))), context { low.isSet })
  }

  private func context(isDiskLow: @escaping @Sendable () -> Bool = { false }) -> SinkContext {
    SinkContext(
      name: "raw", subscription: log.subscribe(), relay: "r-1",
      deadLetters: DeadLetterStore(directory: directory.file("dead-letters"), logger: .silent), isDiskLow: isDiskLow,
      metrics: MetricsRegistry(), logger: .silent)
  }

  @Test("settles on flush what was waiting, and counts it")
  func flush() async throws {
    let sink = try make()
    sink.start()
    for _ in 0..<2500 { log.append("{}", at: time) }
    let result = await sink.flush(until: .now + .seconds(30))
    #expect(result.pending == 0)
    #expect(readLines(directory.file("12.ndjson")).count == 2500)
    #expect(sink.status.ledger.settled[.delivered] == 2500)
    #expect(sink.status.state == .running)
    #expect(await sink.flush(until: .now + .seconds(30)) == FlushResult(flushed: 0, pending: 0))
    await sink.stop(until: .now + .seconds(30))
  }

  @Test("writes, commits and closes on stop; a second stop, flush or start changes nothing")
  func stop() async throws {
    let sink = try make()
    sink.start()
    for _ in 0..<2500 { log.append("{}", at: time) }
    await sink.stop(until: .now + .seconds(30))
    #expect(log.state.withLock { $0.committed } == 2500)
    #expect(sink.status.state == .stopped)
    await sink.stop(until: .now)
    sink.start()
    log.append("{}", at: time)
    #expect(await sink.flush(until: .now + .seconds(30)).pending == 1)
    #expect(readLines(directory.file("12.ndjson")).count == 2500)
  }

  @Test("stops at once when it was never started")
  func neverStarted() async throws {
    let sink = try make()
    await sink.stop(until: .now + .seconds(30))
    #expect(await sink.flush(until: .now + .seconds(30)) == FlushResult(flushed: 0, pending: 0))
  }

  @Test("says that it fails, and gives a flush up at its deadline")
  func failing() async throws {
    _ = directory.write("d", "a file where the directory should be")
    let sink = try make("d/%H.ndjson")
    sink.start()
    log.append("{}", at: time)
    try await lookAgain { sink.status.state != .failing }
    let result = await sink.flush(until: .now + .milliseconds(300))
    #expect(result == FlushResult(flushed: 0, pending: 1))
    let status = sink.status
    #expect(status.state == .failing)
    #expect(status.detail?.contains("Not a directory") == true)
    #expect(status.lastError == status.detail)
    #expect(status.retryAt != nil)
    await sink.stop(until: .now)
  }

  @Test("wakes when events come, and settles them without being asked")
  func wakes() async throws {
    let sink = try make()
    sink.start()
    for count in 1...3 {
      log.append("{}", at: time)
      #expect(await log.committed.wait { $0 == count } != nil)
    }
    #expect(readLines(directory.file("12.ndjson")).count == 3)
    await sink.stop(until: .now + .seconds(30))
  }

  @Test("says since when its disk hangs, and holds up nobody who stops it")
  func stuck() async throws {
    let hangs = Fact(false)
    let goesOn = DispatchSemaphore(value: 0)
    let sink = NDJSONSinkType().make(
      NDJSONOptions(pattern: try PathPattern(directory.file("x.ndjson"))),
      context {
        // Only the first look hangs: on a slow machine there is time for another before the stop.
        let isFirst = !hangs.value
        hangs.change { $0 = true }
        if isFirst { goesOn.wait() }
        return false
      })
    sink.start()
    await hangs.wait { $0 }
    #expect(sink.status.stuckSince != nil)
    await sink.stop(until: .now - ThreadedSink.stopGrace)
    #expect(sink.status.state == .running && !sink.hasEnded)
    goesOn.signal()
    await sink.stop(until: .now + .seconds(30))
    #expect(sink.status.state == .stopped && sink.hasEnded)
  }

  @Test("is made by the registry from its options")
  func registry() throws {
    let options = NDJSONOptions(pattern: try PathPattern("/d/%H.ndjson"))
    let sink = SinkRegistry.make(.init(name: "raw", type: "ndjson", options: options), context())
    #expect(sink.type == "ndjson")
    #expect(sink.name == "raw")
  }
}
