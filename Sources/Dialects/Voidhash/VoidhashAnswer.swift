import Clocks
import EventsAPI
import JSON

/// What an upstream's answer means.
///
/// | status | with | verdict |
/// |---|---|---|
/// | 202 | `accepted` and `rejected`, both numbers | delivered; the rejected are counted, nobody knows which they are |
/// | 202 | anything else | retry, foreign |
/// | other 2xx | | retry, foreign: somebody else answers |
/// | 429 | | retry, rate limited |
/// | 408, 500, 502, 503, 504 | | retry, server error |
/// | 413 | | too large: half of it is sent; a lone event is given up |
/// | 400 | | bad request: halves, until the bad events stand alone and are given up |
/// | 401, 403 | | refused: the key is |
/// | everything else, 3xx too | | refused |
struct VoidhashAnswer {
  private let answer: UpstreamAnswer
  /// Nil when it isn't a whole JSON document.
  private let body: JSONValue?

  init(_ answer: UpstreamAnswer) {
    self.answer = answer
    body = answer.isBodyCut ? nil : try? JSONValue(parsing: answer.body)
  }

  var verdict: UpstreamVerdict {
    switch answer.status {
    case 202:
      guard let receipt else { return foreign }
      return .delivered(receipt)
    case 200..<300: return foreign
    case 400: return .badRequest(code: code, message: message)
    case 413: return .tooLarge(code: code, message: message)
    case 429: return .retry(after: retryAfter, reason: .rateLimited)
    case 408, 500, 502, 503, 504: return .retry(after: retryAfter, reason: .serverError(status: answer.status))
    default: return .refused(status: answer.status, code: code, message: message)
    }
  }

  private var foreign: UpstreamVerdict { .retry(after: retryAfter, reason: .foreign(status: answer.status)) }

  /// The counts of a 202; nil when they aren't both there. Such as can't be true for the batch are believed as far as possible.
  private var receipt: BatchReceipt? {
    guard let accepted = body?["accepted"]?.double, let rejected = body?["rejected"]?.double else { return nil }
    var receipt = BatchReceipt(accepted: count(accepted))
    receipt.unnamedRejections = count(rejected)
    receipt.countsAddUp = accepted >= 0 && rejected >= 0 && accepted + rejected == Double(answer.sentEvents)
    return receipt
  }

  /// A whole number from 0 to the events that were sent.
  private func count(_ number: Double) -> Int { Int(min(max(number, 0), Double(answer.sentEvents))) }

  /// What the upstream asks for: in the header, else in the body.
  private var retryAfter: RetryAfter? {
    let asked = RetryAfter.parse(headerValues: answer.retryAfter, now: answer.now)?.delay ?? bodyDelay
    return asked.map { RetryAfter(delay: min($0, VoidhashLimits.retryAfterMax)) }
  }

  private var bodyDelay: Duration? {
    guard let milliseconds = body?["retry_after_ms"]?.double, milliseconds >= 0 else { return nil }
    return .seconds(min(milliseconds / 1000, VoidhashLimits.retryAfterMax.seconds))
  }

  /// The upstream's own code; one made of the status when it gives none.
  private var code: String {
    let code = body?["code"]?.string ?? ""
    return code.isEmpty
      ? "http_\(answer.status)" : UpstreamVerdict.bounded(code, UpstreamVerdict.codeLengthMax)
  }

  private var message: String {
    let message = body?["error"]?.string ?? body?["message"]?.string ?? ""
    return message.isEmpty
      ? "The upstream answered \(answer.status) and did not say why."
      : UpstreamVerdict.bounded(message, UpstreamVerdict.messageLengthMax)
  }
}
