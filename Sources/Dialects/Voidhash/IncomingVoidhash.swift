import EventsAPI
import JSON

/// `POST /i/v1/batch` and `POST /i/v1/capture`, with the key in the body or a header.
struct IncomingVoidhash: IncomingDialect {
  // (The web SDK posts here from pages.)
  static let batch = IncomingRoute(
    path: "/i/v1/batch", bodyBytesMax: VoidhashLimits.bodyBytesMax, isForBrowsers: true)
  static let capture = IncomingRoute(
    path: "/i/v1/capture", bodyBytesMax: VoidhashLimits.bodyBytesMax, isForBrowsers: true)

  var routes: [IncomingRoute] { [Self.batch, Self.capture] }
  var rejectionCodes: [String] { [VoidhashConsent.rejectionCode] }

  var idNames: [String] { ["uuid"] }
  var judgesEventsApart: Bool { false }
  var batchRoute: IncomingRoute { Self.batch }
  var serving: ServingHabits { ServingHabits() }

  /// One with the members of a capture besides is one.
  func frame(of event: UnsafeRawBufferPointer) -> EventFrame {
    let members = try? JSONValue(parsing: event)
    guard members?["token"] == nil, members?["sent_at"] == nil else { return EventFrame(route: Self.capture) }
    return EventFrame(route: Self.batch, prefix: #"{"events":["#, suffix: "]}")
  }

  /// The body's key wins over the headers': nobody knows it before the body is read.
  func keyClaim(of request: any IncomingRequest, _ route: IncomingRoute) -> KeyClaim { .body }

  func keyPlace(_ route: IncomingRoute) -> String {
    "The body's token, or without one the x-publishable-key or x-secret-key header,"
  }

  func makeReader() -> any IncomingReader { VoidhashReader() }

  func answer(_ error: APIError) -> DialectAnswer {
    let name = VoidhashErrorName(error)
    let body = JSONValue.object([
      .init("_tag", .string(name.tag)), .init("error", .string(error.message)), .init("code", .string(name.code)),
    ])
    return DialectAnswer(status: error.status, body: body.utf8)
  }
}

/// How an error is called: by its status, as the vendor's server does. The document gives the codes of 400, 401, 413 and 429;
/// the other ones and all tags are guessed from their form.
struct VoidhashErrorName: Equatable {
  var tag: String
  var code: String

  init(tag: String, code: String) {
    self.tag = tag
    self.code = code
  }

  init(_ error: APIError) {
    self =
      switch error.status {
      case 400: Self(tag: "InvalidRequestError", code: "invalid_request")
      case 401: Self(tag: "UnauthorizedError", code: "unauthorized")
      case 403: Self(tag: "ForbiddenError", code: "forbidden")
      case 404: Self(tag: "NotFoundError", code: "not_found")
      case 405: Self(tag: "MethodNotAllowedError", code: "method_not_allowed")
      case 408: Self(tag: "RequestTimeoutError", code: "request_timeout")
      case 413: Self(tag: "PayloadTooLargeError", code: "payload_too_large")
      case 415: Self(tag: "UnsupportedMediaTypeError", code: "unsupported_media_type")
      case 429: Self(tag: "RateLimitedError", code: "rate_limited")
      case 503: Self(tag: "ServiceUnavailableError", code: "service_unavailable")
      // (Whatever a later step refuses with has a name of its own already.)
      default: Self(tag: "RequestError", code: error.code)
      }
  }
}
