import Clocks
import EventLog
import EventsAPI
import HTTPClient

/// Batches to `/i/v1/batch`, one after the other, put together anew of the events that wait.
struct OutgoingVoidhash: OutgoingDialect {
  static let path = IncomingVoidhash.batch.path

  var defaults: OutgoingDefaults {
    OutgoingDefaults(
      url: "https://ingest.voidhash.com", linger: .seconds(5), maxBatchEvents: VoidhashLimits.batchEventsMax,
      maxBatchBytes: VoidhashLimits.bodyBytesMax, timeout: .seconds(15),
      retry: RetryDelays(initial: .seconds(1), max: .seconds(30), jitter: 0.25), perMinute: 0, concurrency: 1)
  }

  var habits: OutgoingHabits {
    var habits = OutgoingHabits()
    habits.goesWith = 20
    habits.onServerFault = .wait
    habits.onRefusal = .holdAtOnce
    return habits
  }

  var keyPrefixes: [String] { [VoidhashKey.publishablePrefix, VoidhashKey.secretPrefix] }

  var frameBytes: Int { VoidhashBatchBody.frameBytes }

  /// One that ends in `/`, `/i/v1`, or a path of the protocol's means the same without it.
  func base(of url: String) -> String {
    var rest = Self.withoutSlashes(url[...])
    for path in [Self.path, IncomingVoidhash.capture.path, "/i/v1"] where rest.hasSuffix(path) {
      rest = Self.withoutSlashes(rest.dropLast(path.count))
    }
    return String(rest)
  }

  private static func withoutSlashes(_ url: Substring) -> Substring {
    var rest = url
    while rest.hasSuffix("/") { rest.removeLast() }
    return rest
  }

  /// A secret key goes in its header, and never in the body.
  func target(of batch: EventBatch, key: String) -> OutgoingTarget {
    let headers = ["Content-Type: application/json"] + (VoidhashKey.isSecret(key) ? ["x-secret-key: \(key)"] : [])
    return OutgoingTarget(path: Self.path, headers: headers)
  }

  func fill(_ body: RequestBody, from batch: EventBatch, key: String, now: Timestamp, bytesMax: Int) -> Int {
    VoidhashBatchBody.fill(
      body, from: batch, token: VoidhashKey.isSecret(key) ? nil : key, sentAt: now, bytesMax: bytesMax)
  }

  func judge(_ answer: UpstreamAnswer) -> UpstreamVerdict { VoidhashAnswer(answer).verdict }

  func wait(after failure: FailedTries, _ retry: RetryDelays) -> Duration {
    VoidhashDelays(retry).wait(after: failure)
  }
}
