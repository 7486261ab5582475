import Clocks

/// What an upstream's answer means for the events that were sent.
public enum UpstreamVerdict: Sendable, Equatable {
  /// The upstream took the batch. What it rejected of it must not be sent again unchanged.
  case delivered(BatchReceipt)
  /// Nothing was taken: send the same again, later.
  case retry(after: RetryAfter?, reason: RetryReason)
  /// The body is too long for the upstream or something on the way to it: send it in halves. A single event is too
  /// large for good. Both texts are nil when it isn't the API that says so.
  case tooLarge(code: String?, message: String?)
  /// The upstream can't read the batch: send it in halves, until the bad events stand alone.
  case badRequest(code: String, message: String)
  /// The upstream refuses the batch for good, in its own words.
  case refused(status: Int, code: String, message: String)
}

/// Why the same batch may work later.
public enum RetryReason: Sendable, Equatable {
  case rateLimited
  case serverError(status: Int)
  /// The answer isn't the API's own: a portal, a proxy or a wrong URL stands between us and the upstream.
  case foreign(status: Int)
}
