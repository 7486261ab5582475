import Clocks
import EventLog
import EventsAPI
import HTTPClient
import JSON

/// One event a request to `/track`, web batches to `/`, as they came.
struct OutgoingDatalyr: OutgoingDialect {
  var defaults: OutgoingDefaults {
    OutgoingDefaults(
      url: "https://ingest.datalyr.com", linger: .zero, maxBatchEvents: DatalyrLimits.batchEventsMax,
      maxBatchBytes: DatalyrLimits.batchBytesMax, timeout: .seconds(15),
      retry: RetryDelays(initial: .seconds(1), max: .seconds(30), jitter: 1), perMinute: 100, concurrency: 8)
  }

  var habits: OutgoingHabits {
    var habits = OutgoingHabits()
    habits.keepsRequestsApart = true
    habits.limitUnit = .requests
    habits.onServerFault = .stepAside
    return habits
  }

  var keyPrefixes: [String] { ["dk_"] }

  /// A single event has none.
  var frameBytes: Int { 0 }

  /// One that ends in `/`, `/track` or `/track/` means the same without it.
  func base(of url: String) -> String {
    var rest = Substring(url)
    while rest.hasSuffix("/") { rest.removeLast() }
    if rest.hasSuffix(IncomingDatalyr.track.path) {
      rest.removeLast(IncomingDatalyr.track.path.count)
      while rest.hasSuffix("/") { rest.removeLast() }
    }
    return String(rest)
  }

  /// A web batch goes without a key: its events have the workspace's id.
  func target(of batch: EventBatch, key: String) -> OutgoingTarget {
    let type = "Content-Type: application/json"
    guard Self.isWeb(batch) else {
      return OutgoingTarget(path: IncomingDatalyr.track.path, headers: [type, "X-API-Key: \(key)"])
    }
    return OutgoingTarget(
      path: IncomingDatalyr.web.path, headers: [type, "X-Batch-Size: \(WebBody(batch).count)"])
  }

  func secrets(of batch: EventBatch, key: String) -> [String] { [key] + workspace(of: batch) }

  func advice(onRefused batch: EventBatch) -> String {
    guard Self.isWeb(batch) else { return "set the right write_key and reload" }
    return "web batches have no key but their workspace_id: set the right one in the pages' SDK, or ask the vendor"
  }

  /// A web batch's workspace, which pages have in the place of a key.
  private func workspace(of batch: EventBatch) -> [String] {
    guard Self.isWeb(batch), let first = batch.events.first else { return [] }
    let event = try? JSONValue(parsing: Array(batch.bytes(of: first)))
    return [event?[DatalyrForm.web.name(of: .workspace)]?.string].compactMap(\.self)
  }

  func fill(_ body: RequestBody, from batch: EventBatch, key: String, now: Timestamp, bytesMax: Int) -> Int {
    body.removeAll()
    guard let first = batch.events.first else { return 0 }
    if Self.isWeb(batch) { return WebBody(batch).fill(body, bytesMax: bytesMax) }
    body.append(batch.bytes(of: first))
    return 1
  }

  private static func isWeb(_ batch: EventBatch) -> Bool {
    batch.events.first?.index.flags.contains(.otherForm) == true
  }
}
