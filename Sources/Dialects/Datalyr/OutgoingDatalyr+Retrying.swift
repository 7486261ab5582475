import Clocks
import EventsAPI
import JSON

extension OutgoingDatalyr {
  /// Waits that the upstream asks for and that don't count as failures.
  private static let askedWaitsMax = 5
  /// What a 429 or 408 means that doesn't say how long.
  private static let askedWait: Duration = .seconds(1)
  /// Tries after a failure whose delays grow; from then on each is the longest.
  private static let growingTries = 3

  /// Judges an answer.
  ///
  /// | status | with | verdict |
  /// |---|---|---|
  /// | 2xx | | delivered |
  /// | 408, 429 | | retry, rate limited; `Retry-After` counts up to 30 s |
  /// | 5xx | | retry, server error |
  /// | 413 | | too large: a batch of several events is halved |
  /// | 400 | several events | bad request: the batch is halved, until the bad ones stand alone |
  /// | other 4xx, 400 of one event | | refused |
  /// | everything else: a redirect | | retry, foreign |
  ///
  /// What the vendor's errors look like isn't known: the status alone counts, and the body's words are handed on.
  func judge(_ answer: UpstreamAnswer) -> UpstreamVerdict {
    switch answer.status {
    case 200...299: return .delivered(BatchReceipt(accepted: answer.sentEvents))
    case 408, 429: return .retry(after: Self.asked(answer), reason: .rateLimited)
    case 500...599: return .retry(after: nil, reason: .serverError(status: answer.status))
    case 400...499:
      let (code, message) = Self.words(answer)
      if answer.status == 413 { return .tooLarge(code: code, message: message) }
      if answer.status == 400, answer.sentEvents > 1 { return .badRequest(code: code, message: message) }
      return .refused(status: answer.status, code: code, message: message)
    default: return .retry(after: nil, reason: .foreign(status: answer.status))
    }
  }

  private static func asked(_ answer: UpstreamAnswer) -> RetryAfter? {
    RetryAfter.parse(headerValues: answer.retryAfter, now: answer.now).map {
      RetryAfter(delay: min($0.delay, DatalyrLimits.askedWaitMax))
    }
  }

  /// What the body says in one of the forms that are common: `code`, and `error` or `message`.
  private static func words(_ answer: UpstreamAnswer) -> (code: String, message: String) {
    let body = answer.isBodyCut ? nil : try? JSONValue(parsing: answer.body)
    let error = body?["error"]
    let code = body?["code"]?.string ?? error?["code"]?.string ?? ""
    let message = error?.string ?? error?["message"]?.string ?? body?["message"]?.string ?? ""
    return (
      code.isEmpty ? "http_\(answer.status)" : UpstreamVerdict.bounded(code, UpstreamVerdict.codeLengthMax),
      message.isEmpty
        ? "The upstream answered \(answer.status) without a reason."
        : UpstreamVerdict.bounded(message, UpstreamVerdict.messageLengthMax)
    )
  }

  /// The vendor's own SDKs' delays, gone on with where those give up.
  ///
  /// With the defaults, in one row of tries:
  ///
  /// | failure | answer | wait |
  /// |---|---|---|
  /// | 1st | 503 | 1 s and up to 1 s |
  /// | | 429, Retry-After: 7 | 7 s; the first five of these don't count |
  /// | | 429 | 1 s |
  /// | 2nd | none | 2 s and up to 1 s |
  /// | 3rd | 500 | 4 s and up to 1 s |
  /// | 4th and later | 503 | 30 s |
  /// | | the 6th 429, Retry-After: 7 | what the failure would wait, but 7 s at least |
  func wait(after failure: FailedTries, _ retry: RetryDelays) -> Duration {
    let spared = min(failure.rateLimited, Self.askedWaitsMax)
    if failure.isRateLimited, failure.rateLimited <= Self.askedWaitsMax {
      return min(failure.asked?.delay ?? Self.askedWait, DatalyrLimits.askedWaitMax)
    }
    let own = Self.delay(failures: failure.count - spared, retry, roll: failure.roll)
    guard failure.isRateLimited, let asked = failure.asked else { return own }
    return max(own, min(asked.delay, DatalyrLimits.askedWaitMax))
  }

  private static func delay(failures: Int, _ retry: RetryDelays, roll: Double) -> Duration {
    if failures > growingTries { return retry.max }
    let grown = retry.initial * (1 << max(failures - 1, 0))
    return min(grown + retry.initial * (retry.jitter * min(max(roll, 0), 1)), retry.max)
  }
}
