import EventLog
import EventsAPI
import HTTPServer

extension HTTPResponse {
  /// An answer in the API's own form for errors.
  static func error(_ error: APIError, headers: [(name: String, value: String)] = []) -> HTTPResponse {
    .json(error.status, error.body, headers: headers)
  }

  /// 503 with the time after which another try makes sense.
  static func unavailable(_ message: String, retryAfterSeconds: Int) -> HTTPResponse {
    .error(.serverError(message), headers: [("Retry-After", "\(retryAfterSeconds)")])
  }

  /// The relay is being drained: another one should get the events.
  static var draining: HTTPResponse {
    .unavailable(
      "The relay is being drained and takes no more events; nothing of this request was stored.",
      retryAfterSeconds: 10)
  }

  /// The app's events of the last minute leave no room for the request's.
  static func rateLimited(retryAfterSeconds: Int) -> HTTPResponse {
    .error(
      .rateLimited(
        "More events a minute than the relay takes of one app; nothing of this request was stored."),
      headers: [("Retry-After", "\(retryAfterSeconds)")])
  }

  /// What a sender is told when the log doesn't take its events: nothing of them was stored.
  static func refusal(_ refusal: AppendRefusal) -> HTTPResponse {
    switch refusal {
    case .logFull: .unavailable("The relay's log is full; nothing of this request was stored.", retryAfterSeconds: 5)
    case .diskFull: .unavailable("The relay's disk is full; nothing of this request was stored.", retryAfterSeconds: 10)
    case .failed:
      .unavailable("The relay's disk failed; nothing of this request was acknowledged.", retryAfterSeconds: 60)
    case .closed: .unavailable("The relay is stopping; nothing of this request was stored.", retryAfterSeconds: 2)
    }
  }
}
