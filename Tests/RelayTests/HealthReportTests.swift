import Clocks
import EventLog
import JSON
import Testing

@testable import Relay

@Suite("A health report")
struct HealthReportTests {
  private let now = ContinuousClock.now

  private func statistics(waitingSince: ContinuousClock.Instant? = nil) -> LogStatistics {
    LogStatistics(
      sizeBytes: 0, maxSizeBytes: 1, segments: 1, spareSegments: 0, oldestSequence: 1, nextSequence: 1,
      oldestReceivedAt: nil, acceptedEvents: 0, droppedEvents: 0, corruptRecords: 0, appendWaitingSince: waitingSince)
  }

  private func status(
    _ state: DestinationStatus.State, stuckSince: ContinuousClock.Instant? = nil
  ) -> DestinationStatus {
    DestinationStatus(
      name: "upstream", type: "upstream", state: state, pending: Pending(events: 1, oldestReceivedAt: nil),
      ledger: Ledger(accepted: 1, settled: Tally(), waiting: 1), stuckSince: stuckSince)
  }

  @Test("is live while work moves, and not when it is stuck longer than a delay explains")
  func live() {
    #expect(HealthReport.live(log: statistics(), destinations: [status(.waiting)], now: now).isOK)
    let short = now - .seconds(5)
    let long = now - .seconds(60)
    #expect(HealthReport.live(log: statistics(waitingSince: short), destinations: [], now: now).isOK)
    #expect(!HealthReport.live(log: statistics(waitingSince: long), destinations: [], now: now).isOK)
    #expect(
      !HealthReport.live(log: statistics(), destinations: [status(.running, stuckSince: long)], now: now).isOK)
  }

  @Test("is ready only when a batch posted now would be stored")
  func ready() {
    #expect(HealthReport.ready(log: .ok, isAccepting: true).isOK)
    #expect(!HealthReport.ready(log: .ok, isAccepting: false).isOK)
    for health in [LogHealth.full, .diskFull(detail: "x"), .failed(detail: "x"), .closed] {
      #expect(!HealthReport.ready(log: health, isAccepting: true).isOK)
    }
  }

  @Test("names who a full log waits for")
  func fullFor() {
    let report = HealthReport.ready(log: .full, isAccepting: true, waitedFor: ["raw", "upstream"])
    #expect(report.checks.first?.detail.hasSuffix("; they wait for raw, upstream") == true)
  }

  @Test("shows a destination in trouble without calling the process dead")
  func whole() throws {
    let live = HealthReport.live(log: statistics(), destinations: [], now: now)
    let report = HealthReport.whole(
      live: live, ready: .ready(log: .full, isAccepting: true), destinations: [status(.refused)])
    #expect(report.isOK)
    let body = try JSONValue(parsing: report.body)
    #expect(body["status"]?.string == "ok")
    let upstream = body["checks"]?.array?.first { $0["name"]?.string == "upstream" }
    #expect(upstream?["ok"]?.bool == false)
  }
}
