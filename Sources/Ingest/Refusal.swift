import Dialects
import EventLog
import EventsAPI
import HTTPServer

/// Why a request isn't taken, and when another try makes sense.
struct Refusal: Error {
  var error: APIError
  var headers: [(name: String, value: String)] = []

  init(_ error: APIError, headers: [(name: String, value: String)] = []) {
    self.error = error
    self.headers = headers
  }

  /// 503 with the time after which another try makes sense.
  static func unavailable(_ message: String, retryAfterSeconds: Int) -> Refusal {
    Refusal(.serverError(message), headers: [("Retry-After", "\(retryAfterSeconds)")])
  }

  /// The relay is being drained: another one should get the events.
  static var draining: Refusal {
    .unavailable(
      "The relay is being drained and takes no more events; nothing of this request was stored.",
      retryAfterSeconds: 10)
  }

  /// The app's events of the last minute leave no room for the request's.
  static func rateLimited(retryAfterSeconds: Int) -> Refusal {
    Refusal(
      .rateLimited(
        "More events a minute than the relay takes of one app; nothing of this request was stored."),
      headers: [("Retry-After", "\(retryAfterSeconds)")])
  }

  /// What a sender is told when the log doesn't take its events: nothing of them was stored.
  init(_ refusal: AppendRefusal) {
    self =
      switch refusal {
      case .logFull: .unavailable("The relay's log is full; nothing of this request was stored.", retryAfterSeconds: 5)
      case .diskFull:
        .unavailable("The relay's disk is full; nothing of this request was stored.", retryAfterSeconds: 10)
      case .failed:
        .unavailable("The relay's disk failed; nothing of this request was acknowledged.", retryAfterSeconds: 60)
      case .closed:
        .unavailable("The relay is stopping; nothing of this request was stored.", retryAfterSeconds: 2)
      }
  }

  /// What is wrong with a request before anybody looks into its body.
  init(_ fault: HTTPFault, bodyBytesMax: Int) {
    self =
      switch fault {
      case .overloaded: .unavailable("Too much is being sent at once; try again in a moment.", retryAfterSeconds: 1)
      case .bodyTooLarge: Refusal(.payloadTooLarge(bytesMax: bodyBytesMax))
      case .unsupportedEncoding:
        Refusal(.unsupportedMediaType("Content-Encoding must be gzip, deflate or identity."))
      case .undecodableBody: Refusal(.invalidBody("The body is not what its Content-Encoding says."))
      case .badFraming(let detail): Refusal(.invalidBody("The request is not proper HTTP: \(detail)."))
      case .bodyTimeout:
        Refusal(APIError(status: 408, code: "request_timeout", message: "The body did not come in time."))
      }
  }
}

extension HTTPResponse {
  init(_ answer: DialectAnswer) {
    self =
      answer.body.isEmpty
      ? HTTPResponse(status: answer.status, headers: answer.headers)
      : .json(answer.status, answer.body, headers: answer.headers)
  }

  /// A refusal in the form of the protocol that the request came by.
  init(_ refusal: Refusal, _ dialect: any Dialect) {
    var answer = dialect.incoming.answer(refusal.error)
    answer.headers += refusal.headers
    self.init(answer)
  }
}
