import Clocks
import EventLog
import EventsAPI
import Observability
import Synchronization
import TestSupport
import Testing

@testable import Relay

@Suite("How near waiting events are to the 7 days")
final class ClampGuardTests: Sendable {
  private let directory = TemporaryDirectory()
  private let now = Mutex(Timestamp(milliseconds: 1_800_000_000_000))
  private let lines = Fact<[String]>([])

  private var clock: WallClock { WallClock { self.now.withLock { $0 } } }
  private var logger: Logger {
    Logger(level: .info, clock: clock) { [lines] line in
      lines.change { $0.append(String(decoding: line, as: UTF8.self)) }
    }
  }

  private func advance(_ duration: Duration) { now.withLock { $0 = $0 + duration } }

  private func open() throws -> FileLog {
    try FileLog.open(
      directory: directory.file("log"), positions: directory.file("positions"),
      configuration: FileLogConfiguration(durability: .os, minFreeDisk: 0), clock: clock, logger: .silent,
      metrics: MetricsRegistry())
  }

  /// Stores an event that came now and happened so long ago.
  private func put(_ log: FileLog, ago: Duration, isClamped: Bool = false) async {
    let outcome = Fact<AppendOutcome?>(nil)
    let body = Array(#"{"name":"n"}"#.utf8)
    let event = DraftEvent(
      index: EventIndex(
        idHigh: 0, idLow: 0, installHash: 0, userHash: 0, length: body.count, nameOffset: 0, occurredAtOffset: 0,
        occurredAt: clock.now - ago, flags: isClamped ? .clamped : []), offset: 0)
    body.withUnsafeBytes { body in
      withUnsafePointer(to: event) { event in
        log.append(
          FrameDraft(
            app: "ios", kind: .event, receivedAt: clock.now, body: body,
            events: UnsafeBufferPointer(start: event, count: 1))
        ) { stored in outcome.change { $0 = stored } }
      }
    }
    _ = await outcome.wait { $0 != nil }
  }

  private var warnings: [String] { lines.value.filter { $0.contains("clamping_begins_at") } }

  @Test("status says when the first is clamped, and a day before it somebody is told, once")
  func warns() async throws {
    let log = try open()
    defer { log.close() }
    let subscription = try log.subscribe("upstream", origin: .oldest)
    let guardian = ClampGuard(subscription, clock: clock, logger: logger, period: .zero)
    #expect(guardian.beginsAt == nil)
    guardian.check()
    await put(log, ago: .seconds(3600))
    await put(log, ago: .seconds(7200))
    await put(log, ago: .zero)
    // Its time was replaced when it came in: what counts is when it came.
    await put(log, ago: .seconds(30 * 86_400), isClamped: true)
    let begins = clock.now - .seconds(7200) + EventsLimits.pastMax
    #expect(guardian.beginsAt == begins)
    advance(EventsLimits.pastMax - .seconds(7200) - ClampGuard.warnsBefore)
    guardian.check()
    #expect(warnings.isEmpty)
    advance(.milliseconds(1))
    guardian.check()
    guardian.check()
    #expect(warnings.count == 1)
    #expect(warnings.first?.contains("are about to be older than 7 days") == true)
    #expect(warnings.first?.contains(begins.description) == true)

    // The two that were near are delivered: the next to come near is told of again.
    subscription.acknowledge(.app("ios"), 1...2, Tally(.delivered, 2))
    guardian.check()
    #expect(warnings.count == 1)
    #expect(guardian.beginsAt == begins + .seconds(7200))
    advance(ClampGuard.warnsBefore + .seconds(7200))
    guardian.check()
    #expect(warnings.count == 2)
    #expect(warnings.last?.contains("are older than 7 days") == true)
  }

  @Test("what was known stands while what waits can't be read, and nobody is told twice for it")
  func unreadable() async throws {
    let subscription = DatedSubscription(clock.now - EventsLimits.pastMax + .seconds(60))
    let guardian = ClampGuard(subscription, clock: clock, logger: logger, period: .zero)
    for fails in [false, true, false, true] {
      subscription.fails.change { $0 = fails }
      guardian.check()
      #expect(guardian.beginsAt == clock.now + .seconds(60))
      #expect(warnings.count == 1)
    }
    // Nothing waits any more: that is no failure.
    subscription.fails.change { $0 = false }
    subscription.earliest.change { $0 = nil }
    #expect(guardian.beginsAt == nil)
  }

  @Test("a look holds for a minute, since it costs reading")
  func remembers() async throws {
    let log = try open()
    defer { log.close() }
    let subscription = try log.subscribe("upstream", origin: .oldest)
    let guardian = ClampGuard(subscription, clock: clock, logger: logger)
    await put(log, ago: .zero)
    let first = guardian.beginsAt
    #expect(first == clock.now + EventsLimits.pastMax)
    await put(log, ago: .seconds(3600))
    #expect(guardian.beginsAt == first)
  }
}
