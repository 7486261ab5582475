import Clocks
import HTTPClient
import Observability

/// What a receiver's answer, or its absence, means for the batch that was sent.
enum WebhookVerdict: Sendable, Equatable {
  case delivered
  /// Nothing was taken: send the same again, later; no sooner than the receiver asks.
  case retry(WebhookTrouble, after: RetryAfter?)
  /// The receiver refuses the batch for good, with what it says about it: never logged, since it may quote events.
  case refused(status: Int, message: String?)
  /// The receiver wants no requests any more.
  case gone

  /// Judges an answer.
  ///
  /// | status | verdict |
  /// |---|---|
  /// | 2xx | delivered, whatever the body is |
  /// | 408, 425 | retry |
  /// | 429 | retry, rate limited |
  /// | 407 | retry: a proxy's, not the receiver's |
  /// | 410 | gone |
  /// | other 4xx | refused |
  /// | 5xx | retry |
  /// | 3xx and everything else | retry: the URL is wrong |
  ///
  /// A `Retry-After` counts with any of those to be tried again, up to an hour.
  static func judge(_ answer: HTTPAnswer, now: Timestamp) -> WebhookVerdict {
    let after = RetryAfter.parse(headerValues: answer.values(of: "retry-after"), now: now)
    switch answer.status {
    case 200...299: return .delivered
    case 429: return .retry(.rateLimited, after: after)
    case 408, 425, 500...599: return .retry(.fault(status: answer.status), after: after)
    case 407: return .retry(.foreign(status: 407), after: after)
    case 410: return .gone
    case 400...499: return .refused(status: answer.status, message: message(of: answer.body))
    case 300...399: return .retry(.redirect(status: answer.status), after: after)
    default: return .retry(.foreign(status: answer.status), after: after)
    }
  }

  static func judge(
    _ result: Result<HTTPAnswer, TransportFailure>, now: Timestamp
  ) -> WebhookVerdict {
    switch result {
    case .success(let answer): judge(answer, now: now)
    case .failure(let failure): .retry(.network(failure), after: nil)
    }
  }

  /// Bytes of a receiver's words that are kept.
  static let messageBytesMax = 512

  /// The body's beginning on one line, without control characters; nil when nothing is left.
  static func message(of body: [UInt8]) -> String? {
    var kept = String.UnicodeScalarView()
    var bytes = 0
    for scalar in String(decoding: body.prefix(4 * messageBytesMax), as: UTF8.self).unicodeScalars {
      let isBreak = scalar.value <= 0x20 || scalar.value == 0x2028 || scalar.value == 0x2029
      if isBreak, kept.last == " " || kept.isEmpty { continue }
      if !isBreak, scalar.value == 0x7F || (0x80...0x9F).contains(scalar.value) { continue }
      bytes += isBreak ? 1 : UTF8.width(scalar)
      if bytes > messageBytesMax { break }
      kept.append(isBreak ? " " : scalar)
    }
    if kept.last == " " { kept.removeLast() }
    return kept.isEmpty ? nil : String(kept)
  }

  var outcome: AttemptMetrics.Outcome {
    switch self {
    case .delivered: .delivered
    case .retry(.rateLimited, _): .rateLimited
    case .retry(.fault, _): .serverError
    case .retry(.network, _): .network
    case .retry(.redirect, _), .retry(.foreign, _): .foreign
    case .refused(let status, _): status == 413 ? .tooLarge : .refused
    case .gone: .refused
    }
  }
}
