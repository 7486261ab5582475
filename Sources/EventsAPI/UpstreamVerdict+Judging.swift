import Clocks
import JSON

extension UpstreamVerdict {
  /// Bytes of a code and of a message that are kept of an upstream's words.
  public static let codeLengthMax = 64
  public static let messageLengthMax = 512

  /// Judges an answer.
  ///
  /// | status | with | verdict |
  /// |---|---|---|
  /// | 200 | the three fields (events); no body or JSON (identify) | delivered |
  /// | 200 | anything else: a captive portal's page | retry, foreign |
  /// | other 2xx | | delivered |
  /// | 429 | | retry, rate limited |
  /// | 5xx | | retry, server error |
  /// | 413 | the API's error object, or several events | too large |
  /// | 413 | no error object, one event | retry, foreign |
  /// | 400 | the error object | bad request |
  /// | other 4xx | the error object | refused |
  /// | everything else | | retry, foreign |
  ///
  /// A 413 without the error object comes from a proxy whose limit is smaller than the API's: smaller batches get
  /// through there. An event that such a proxy refuses by itself is not lost for it: somebody has to mend the proxy.
  ///
  /// - Parameters:
  ///   - retryAfter: all values of the header.
  ///   - isBodyCut: the body was longer than what is in `body`; then it isn't read.
  ///   - sentEvents: how many events the request held.
  public static func judge(
    status: Int, retryAfter: [String], body: [UInt8], isBodyCut: Bool, sentEvents: Int, route: APIRoute, now: Timestamp
  ) -> UpstreamVerdict {
    let foreign = UpstreamVerdict.retry(
      after: RetryAfter.parse(headerValues: retryAfter, now: now), reason: .foreign(status: status))
    switch status {
    case 200:
      guard !isBodyCut, let receipt = receipt(body, sentEvents, route) else { return foreign }
      return .delivered(receipt)
    case 201...299: return .delivered(BatchReceipt(accepted: sentEvents))
    case 429: return .retry(after: RetryAfter.parse(headerValues: retryAfter, now: now), reason: .rateLimited)
    case 500...599:
      return .retry(
        after: RetryAfter.parse(headerValues: retryAfter, now: now), reason: .serverError(status: status))
    case 400...499:
      guard !isBodyCut, let error = errorObject(body) else {
        return status == 413 && sentEvents > 1 ? .tooLarge(code: nil, message: nil) : foreign
      }
      if status == 413 { return .tooLarge(code: error.code, message: error.message) }
      if status == 400 { return .badRequest(code: error.code, message: error.message) }
      return .refused(status: status, code: error.code, message: error.message)
    default: return foreign
    }
  }

  private static func receipt(_ body: [UInt8], _ sentEvents: Int, _ route: APIRoute) -> BatchReceipt? {
    switch route {
    case .events: return BatchReceipt(body, sentEvents: sentEvents)
    case .identify:
      // The API answers 204; a 200 is believed when it doesn't look like somebody else's page.
      let isEmpty = body.allSatisfy { $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }
      return isEmpty || (try? JSONValue(parsing: body)) != nil ? BatchReceipt(accepted: sentEvents) : nil
    }
  }

  /// The API's error object: `{"code":"…","message":"…"}`, both strings, the code not empty.
  private static func errorObject(_ body: [UInt8]) -> (code: String, message: String)? {
    guard let object = try? JSONValue(parsing: body) else { return nil }
    guard let code = object["code"]?.string, let message = object["message"]?.string, !code.isEmpty else { return nil }
    return (bounded(code, codeLengthMax), bounded(message, messageLengthMax))
  }

  /// An upstream's words in at most so many bytes of UTF-8, without control characters.
  public static func bounded(_ text: String, _ bytesMax: Int) -> String {
    var kept = String.UnicodeScalarView()
    var bytes = 0
    for scalar in text.unicodeScalars {
      let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
      let isLineEnd = scalar.value == 0x2028 || scalar.value == 0x2029
      if isControl || isLineEnd { continue }
      bytes += UTF8.width(scalar)
      if bytes > bytesMax { break }
      kept.append(scalar)
    }
    return String(kept)
  }
}
