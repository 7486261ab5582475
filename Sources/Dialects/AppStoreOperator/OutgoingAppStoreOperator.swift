import Clocks
import EventLog
import EventsAPI
import HTTPClient

/// Batches to `/v1/events`, links to `/v1/identify`, with the rules of the API's retry section.
struct OutgoingAppStoreOperator: OutgoingDialect {
  var defaults: OutgoingDefaults {
    var defaults = OutgoingDefaults(
      url: "https://api.app-store-operator.com", linger: .seconds(1), maxBatchEvents: EventsLimits.batchEventsMax,
      maxBatchBytes: EventsLimits.bodyBytesMax, timeout: .seconds(30),
      retry: RetryDelays(initial: .seconds(30), max: .seconds(600), jitter: 0.1), perMinute: 10_000, concurrency: 8)
    defaults.perInstallPerMinute = 300
    defaults.margin = 0.05
    return defaults
  }

  var habits: OutgoingHabits {
    var habits = OutgoingHabits()
    habits.limitsInstalls = true
    habits.clampsTime = true
    habits.doubtsCounts = true
    return habits
  }

  var keyPrefixes: [String] { ["aso_wk_"] }
  var frameBytes: Int { BatchBody.frameBytes }

  /// One that ends in `/`, `/v1` or `/v1/` means the same without it.
  func base(of url: String) -> String {
    var rest = Substring(url)
    while rest.hasSuffix("/") { rest.removeLast() }
    if rest.hasSuffix("/v1") {
      rest.removeLast(3)
      while rest.hasSuffix("/") { rest.removeLast() }
    }
    return String(rest)
  }

  func target(of batch: EventBatch, key: String) -> OutgoingTarget {
    let route = batch.events.first?.kind == .identify ? APIRoute.identify : .events
    return OutgoingTarget(path: route.path, headers: ["Content-Type: application/json", "X-Write-Key: \(key)"])
  }

  func fill(_ body: RequestBody, from batch: EventBatch, key: String, now: Timestamp, bytesMax: Int) -> Int {
    if let first = batch.events.first, first.kind == .identify {
      BatchBody.fill(body, withOnly: first, of: batch)
      return 1
    }
    return BatchBody.fill(body, from: batch, bytesMax: bytesMax)
  }

  func judge(_ answer: UpstreamAnswer) -> UpstreamVerdict {
    UpstreamVerdict.judge(
      status: answer.status, retryAfter: answer.retryAfter, body: answer.body, isBodyCut: answer.isBodyCut,
      sentEvents: answer.sentEvents, route: answer.kind == .event ? .events : .identify, now: answer.now)
  }

  func wait(after failure: FailedTries, _ retry: RetryDelays) -> Duration {
    var schedule = RetrySchedule(
      initial: retry.initial, max: retry.max, jitter: retry.jitter, failures: failure.count - 1)
    return schedule.delay(retryAfter: failure.asked, isRateLimited: failure.isRateLimited, roll: failure.roll)
  }
}
