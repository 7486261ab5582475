import Clocks
import EventLog
import Foundation
import JSON
import Observability
import TestSupport
import Testing

@testable import Commands

@Suite struct LogTests {
  private let directory = TemporaryDirectory()
  private var data: String { directory.file("data") }

  /// Makes a log of two requests, one event each.
  private func makeLog() async throws {
    let log = try FileLog.open(
      directory: "\(data)/log", positions: "\(data)/positions",
      configuration: .init(segmentSize: 2 << 20, maxSize: 8 << 20, minFreeDisk: 0), clock: WallClock { testTime },
      logger: .silent, metrics: MetricsRegistry())
    for number in 1...2 {
      let outcome = await withCheckedContinuation { continuation in
        let body = Array(goodEvent(number).utf8)
        let index = EventIndex(
          idHigh: 1, idLow: UInt64(number), installHash: 1, userHash: 0, length: body.count, nameOffset: 0,
          occurredAtOffset: 0, occurredAt: testTime, flags: [])
        body.withUnsafeBytes { body in
          [DraftEvent(index: index, offset: 0)].withUnsafeBufferPointer { events in
            log.append(
              FrameDraft(app: "ios", kind: .event, receivedAt: testTime, body: body, events: events),
              completion: { continuation.resume(returning: $0) })
          }
        }
      }
      guard case .stored = outcome else { throw CommandFailure("not stored: \(outcome)") }
    }
    log.close()
  }

  @Test func `The log's segments and apps are shown`() async throws {
    try await makeLog()
    for path in [data, "\(data)/log"] {
      let ran = await run("log", "inspect", path)
      #expect(ran.code == 0 && ran.err.isEmpty)
      #expect(ran.out.contains("2 in 2 requests"), "\(ran.out)")
      #expect(ran.out.contains("\nAPP  EVENTS  REQUESTS"))
      #expect(ran.out.contains("\nios       2         2  2026-11-30T08:00:00.000Z"))
      #expect(ran.out.contains("\nSEGMENT"))
    }
    let json = try JSONValue(parsing: await run("log", "inspect", data, "--json").out)
    #expect(json["events"] == 2)
    #expect(json["apps"]?.array?.first?["app"] == "ios")
    #expect(json["damaged"] == false)
  }

  @Test func `A whole log verifies, and a damaged one is named by file and place`() async throws {
    try await makeLog()
    let whole = await run("log", "verify", data)
    #expect(whole.code == 0 && whole.out.hasSuffix("\nevery record is whole\n"))
    try damage()
    let damaged = await run("log", "verify", data)
    #expect(damaged.code == 1)
    #expect(damaged.out.contains("is damaged ("), "\(damaged.out)")
    #expect(damaged.out.contains(" is lost"), "\(damaged.out)")
    let json = try JSONValue(parsing: await run("log", "verify", data, "--json").out)
    #expect(json["damaged"] == true && json["lost_events"] == 1)
    let inspected = await run("log", "inspect", data)
    #expect(inspected.code == 1 && inspected.err.contains("the log is damaged"))
    #expect(inspected.out.hasSuffix("\n1 damage, 1 event lost; what follows a damage still flows\n"))
  }

  /// Changes a byte of the first event.
  private func damage() throws {
    let segments = try FileManager.default.contentsOfDirectory(atPath: "\(data)/log").map { "\(data)/log/\($0)" }
    let event = Array(goodEvent(1).utf8)
    for path in segments {
      guard var bytes = readFile(path), let at = bytes.firstRange(of: event)?.lowerBound else { continue }
      bytes[at + 20] ^= 1
      try Data(bytes).write(to: URL(filePath: path))
      return
    }
    Issue.record("the event is in no segment")
  }

  @Test func `A directory without a log says so`() async {
    for command in ["inspect", "verify"] {
      let missing = await run("log", command, directory.file("none"))
      #expect(missing.code == 1 && missing.out.isEmpty)
      #expect(missing.err.contains(directory.file("none")), "\(missing.err)")
      let empty = await run("log", command, directory.path)
      #expect(empty.code == 1 && empty.err.contains("there is no log in \(directory.path)"))
    }
  }

  @Test func `A log whose segments are all taken back is an empty one`() async {
    mkdir(directory.file("log"), 0o700)
    _ = directory.write("log/spare-000000000007.log", "")
    for command in ["inspect", "verify"] {
      let result = await run("log", command, directory.path)
      #expect(result.code == 0, "\(result.out)\(result.err)")
    }
  }
}
