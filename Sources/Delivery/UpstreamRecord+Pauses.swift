import Clocks
import EventLog
import JSON

extension UpstreamRecord {
  /// The pause of a key that the upstream refuses.
  struct PauseRecord: Sendable, Equatable {
    /// The key's fingerprint.
    var key: String
    /// When one request may ask.
    var retryAt: Timestamp
    /// The whole wait.
    var wait: Duration
    var detail: String

    var json: JSONValue {
      [
        "key": .string(key), "retry_at": .string(retryAt.description), "retry_at_ms": JSONValue(retryAt.milliseconds),
        "wait_ms": JSONValue(wait.milliseconds), "detail": .string(detail),
      ]
    }

    init(key: String, retryAt: Timestamp, wait: Duration, detail: String) {
      self.key = key
      self.retryAt = retryAt
      self.wait = wait
      self.detail = detail
    }

    /// Nil when something of it is missing or of another form: that costs one early try.
    init?(_ json: JSONValue) {
      guard let key = json["key"]?.string, let retryAt = json["retry_at_ms"]?.integer(as: Int64.self),
        let wait = json["wait_ms"]?.integer(as: Int64.self), (0...UpstreamRecord.waitMillisecondsMax).contains(wait)
      else { return nil }
      self.init(
        key: key, retryAt: Timestamp(milliseconds: retryAt), wait: .milliseconds(wait),
        detail: json["detail"]?.string ?? "")
    }
  }
}

extension LaneDelay {
  /// Takes up a pause after a restart: what is left of it by the wall clock, and no more than the whole of it.
  init(restored record: UpstreamRecord.PauseRecord, now: ContinuousClock.Instant, wallNow: Timestamp) {
    let left = min(max(record.retryAt - wallNow, .zero), record.wait)
    self.init(length: left, state: .refused, detail: record.detail, now: now, wallNow: wallNow)
    length = record.wait
  }
}
