import EventsAPI
import Testing

@testable import Dialects

@Suite("Where a Voidhash request has its key, and what its person agreed to")
struct VoidhashKeyTests {
  private typealias Samples = VoidhashSamples

  private static let (pk, sk) = (["x-publishable-key": "vh_pk_head"], ["x-secret-key": "vh_sk_head"])

  private func key(_ token: String, _ headers: [String: String], _ route: IncomingRoute) -> BodyKey {
    let body =
      route == IncomingVoidhash.capture
      ? "{" + token.dropFirst() + (token.isEmpty ? "" : ",") + Samples.event().dropFirst()
      : Samples.batch([Samples.event()], more: token)
    return VoidhashReading(body, route: route, headers: headers).key
  }

  @Test(
    "the body's counts first, then the publishable one of the head, then the secret one",
    arguments: [
      (#","token":"vh_pk_body""#, pk.merging(sk) { one, _ in one }, BodyKey.key("vh_pk_body")),
      (#","token":"vh_pk_body""#, [:], .key("vh_pk_body")),
      (#","token":"v\u0068_pk_body""#, [:], .key("vh_pk_body")),
      (#","token":"any text""#, [:], .key("any text")),
      ("", pk.merging(sk) { one, _ in one }, .key("vh_pk_head")),
      ("", pk, .key("vh_pk_head")),
      ("", sk, .key("vh_sk_head")),
      ("", ["x-publishable-key": "", "x-secret-key": "vh_sk_head"], .key("vh_sk_head")),
      (#","token":null"#, pk, .key("vh_pk_head")),
      (#","token":"""#, sk, .key("vh_sk_head")),
      ("", [:], .missing),
      (#","token":"""#, ["x-secret-key": ""], .missing),
    ])
  func places(token: String, headers: [String: String], expected: BodyKey) {
    for route in IncomingVoidhash().routes { #expect(key(token, headers, route) == expected) }
  }

  @Test(
    "a secret key in the body is refused whatever the head says, and so is a token that is no string",
    arguments: [
      #","token":"vh_sk_1""#, #","token":"vh\u005fsk_1""#, #","token":7"#, #","token":{}"#, #","token":true"#,
    ])
  func refused(token: String) {
    for route in IncomingVoidhash().routes {
      guard case .refused(let why) = key(token, Self.pk, route) else {
        Issue.record("it was not refused")
        continue
      }
      #expect(why.contains("send the app's publishable key (vh_pk_…) in"))
      #expect(!why.contains("vh_sk_1"))
    }
  }

  @Test("it is asked for in the body, and messages name all its places")
  func claim() {
    let dialect = IncomingVoidhash()
    for route in dialect.routes {
      #expect(dialect.keyClaim(of: SampleRequest(path: route.path, headers: Self.pk), route) == .body)
      for place in ["token", "x-publishable-key", "x-secret-key"] { #expect(dialect.keyPlace(route).contains(place)) }
    }
  }

  @Test(
    "events are kept only of who has agreed",
    arguments: [
      (nil, true), ("granted", true), ("GRANTED", true), (" \tGranted ", true), ("denied", false), ("pending", false),
      ("", false), (" ", false), ("grant", false), ("granted,denied", false), ("yes", false), ("true", false),
      ("grante\u{0501}", false),
    ] as [(String?, Bool)])
  func consent(header: String?, isGranted: Bool) {
    let headers = header.map { ["x-analytics-consent": $0] } ?? [:]
    let batch = VoidhashReading(Samples.batch([Samples.event(), Samples.event()]), headers: headers)
    #expect(batch.fault == nil)
    #expect(batch.accepted.count == (isGranted ? 2 : 0))
    #expect(batch.rejectedCodes == (isGranted ? [] : ["consent_denied", "consent_denied"]))
    #expect(batch.answer == (isGranted ? #"{"accepted":2,"rejected":0}"# : #"{"accepted":0,"rejected":2}"#))
    let capture = VoidhashReading(Samples.event(), route: IncomingVoidhash.capture, headers: headers)
    #expect(capture.answer == (isGranted ? #"{"accepted":1,"rejected":0}"# : #"{"accepted":0,"rejected":1}"#))
    #expect(Set(batch.rejectedCodes).isSubset(of: IncomingVoidhash().rejectionCodes))
  }

  @Test("a request of who hasn't is checked all the same")
  func checked() {
    let denied = ["x-analytics-consent": "denied"]
    let bad = VoidhashReading(Samples.batch([Samples.event(["uuid": ""])]), headers: denied)
    #expect(bad.fault?.status == 400 && bad.rejectedCodes.isEmpty)
    #expect(VoidhashReading(Samples.batch([]), headers: denied).fault?.status == 400)
    #expect(VoidhashReading(Samples.batch([Samples.event()]), headers: denied).key == .key("vh_pk_1"))
  }

  @Test(
    "what is wrong is said in the protocol's own form",
    arguments: [
      (APIError.invalidBody("m"), 400, "InvalidRequestError", "invalid_request"),
      (.invalidWriteKey("m"), 401, "UnauthorizedError", "unauthorized"),
      (APIError(status: 403, code: "origin_not_allowed", message: "m"), 403, "ForbiddenError", "forbidden"),
      (.notFound("m"), 404, "NotFoundError", "not_found"),
      (.methodNotAllowed("m"), 405, "MethodNotAllowedError", "method_not_allowed"),
      (APIError(status: 408, code: "request_timeout", message: "m"), 408, "RequestTimeoutError", "request_timeout"),
      (APIError(status: 413, code: "x", message: "m"), 413, "PayloadTooLargeError", "payload_too_large"),
      (.unsupportedMediaType("m"), 415, "UnsupportedMediaTypeError", "unsupported_media_type"),
      (.rateLimited("m"), 429, "RateLimitedError", "rate_limited"),
      (.serverError("m"), 503, "ServiceUnavailableError", "service_unavailable"),
      (APIError(status: 418, code: "teapot", message: "m"), 418, "RequestError", "teapot"),
    ])
  func errors(error: APIError, status: Int, tag: String, code: String) {
    let answer = IncomingVoidhash().answer(error)
    #expect(answer.status == status)
    #expect(String(decoding: answer.body, as: UTF8.self) == #"{"_tag":"\#(tag)","error":"m","code":"\#(code)"}"#)
  }
}
