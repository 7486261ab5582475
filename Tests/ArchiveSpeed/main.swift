import Clocks
import Configuration
import DeadLetters
import EventLog
import Foundation
import Observability
import Sinks
import TestSupport

/// Measures what an archive costs, from a log of so many events on disk to the last commit:
///
///   swift run -c release archive-speed [EVENTS] [DIR]
///
/// Prints events per second of the process's CPU time, which is then the sink's alone: the log is filled before. The
/// events are of about 450 bytes and differ as real ones do, in ids, times and a few properties.
struct ArchiveSpeed {
  let events: Int
  let directory: String

  private func line(_ number: Int, _ random: inout SystemRandomNumberGenerator) -> String {
    let names = ["app_opened", "screen_viewed", "purchase_completed", "subscription_started", "button_tapped"]
    let screens = ["home", "settings", "paywall"]
    return #"{"event_id":"\#(UUID().uuidString.lowercased())","name":"\#(names[number % 5])","#
      + #""anonymous_id":"\#(UUID().uuidString.lowercased())","user_id":"user-\#(Int.random(in: 0..<100_000))","#
      + #""occurred_at":"2026-11-30T11:24:\#(10 + number / 1000 % 50).\#(100 + number % 900)Z","#
      + #""properties":{"screen":"\#(screens[number % 3])","price":\#(Int.random(in: 0..<10_000)),"currency":"EUR","#
      + #""index":\#(number),"source":"organic","is_trial":\#(Bool.random())},"context":{"app_version":"4.12.\#(number % 9)","#
      + #""os":"iOS","os_version":"19.1","device":"iPhone17,2","locale":"de_DE"}}"#
  }

  /// Appends requests of 100 events.
  private func fill(_ log: FileLog) async -> Int {
    var random = SystemRandomNumberGenerator()
    var bytes = 0
    for request in 0..<events / 100 {
      var body: [UInt8] = []
      var drafts: [DraftEvent] = []
      let now = WallClock.system.now
      for number in 0..<100 {
        let line = line(request * 100 + number, &random)
        let index = EventIndex(
          idHigh: UInt64.random(in: 0 ... .max), idLow: UInt64.random(in: 0 ... .max),
          installHash: UInt64.random(in: 0 ... .max), userHash: 1, length: line.utf8.count, nameOffset: 60,
          occurredAtOffset: 0, occurredAt: now, flags: [])
        drafts.append(DraftEvent(index: index, offset: body.count))
        body += line.utf8
      }
      bytes += body.count
      let outcome = await withCheckedContinuation { continuation in
        body.withUnsafeBytes { body in
          drafts.withUnsafeBufferPointer { drafts in
            let draft = FrameDraft(app: "ios", kind: .event, receivedAt: now, body: body, events: drafts)
            log.append(draft) { continuation.resume(returning: $0) }
          }
        }
      }
      guard case .stored = outcome else { preconditionFailure("not stored: \(outcome)") }
    }
    return bytes
  }

  private func make(_ subscription: any Subscription) -> any Destination {
    let context = SinkContext(
      name: "speed", subscription: subscription, relay: "0123456789abcdef0123456789abcdef",
      deadLetters: DeadLetterStore(directory: "\(directory)/dead-letters", logger: .silent), metrics: MetricsRegistry(),
      logger: Logger(level: .warning))
    return ArchiveSinkType().make(ArchiveOptions(directory: "\(directory)/archive"), context)
  }

  private static var cpu: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  func run() async throws {
    let log = try FileLog.open(
      directory: "\(directory)/log", positions: "\(directory)/positions",
      configuration: FileLogConfiguration(durability: .os, minFreeDisk: 0), logger: .silent, metrics: MetricsRegistry())
    let subscription = try log.subscribe("speed", origin: .oldest)
    let bytes = await fill(log)
    let sink = make(subscription)
    let (cpu, began) = (Self.cpu, ContinuousClock.now)
    sink.start()
    let result = await sink.flush(until: .now + .seconds(600))
    await sink.stop(until: .now + .seconds(60))
    let (spent, passed) = (Self.cpu - cpu, ContinuousClock.now - began)
    precondition(result.pending == 0, "\(result.pending) events are left")
    log.close()
    print(
      "\(events) events of \(bytes / events) bytes; \(Int(Double(events) / spent)) events per CPU-second, "
        + "\(Int(Double(events) / passed.seconds)) per second")
  }
}

let words = CommandLine.arguments.dropFirst()
let temporary = TemporaryDirectory()
try await ArchiveSpeed(
  events: words.first.flatMap { Int($0) } ?? 400_000, directory: words.dropFirst().first ?? temporary.path
).run()
