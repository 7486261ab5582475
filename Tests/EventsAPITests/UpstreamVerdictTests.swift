import Clocks
import JSON
import Testing

@testable import EventsAPI

private func judge(
  _ status: Int, _ body: String = "", retryAfter: [String] = [], isCut: Bool = false, sent: Int = 3,
  route: APIRoute = .events
) -> UpstreamVerdict {
  .judge(
    status: status, retryAfter: retryAfter, body: Array(body.utf8), isBodyCut: isCut, sentEvents: sent, route: route,
    now: receivedAt)
}

private let errorObject = #"{"code":"some_code","message":"Some words."}"#
private let page = "<html><body>Please sign in.</body></html>"

@Suite("The verdict on an upstream's answer")
struct UpstreamVerdictTests {
  @Test("200 with the three fields: delivered")
  func delivered() {
    #expect(judge(200, #"{"accepted":3,"rejected":[],"clamped":[]}"#) == .delivered(BatchReceipt(accepted: 3)))
    #expect(
      judge(200, " {\"clamped\" : [],\n\"new\":1, \"rejected\":[] ,\"accepted\": 3}\n")
        == .delivered(BatchReceipt(accepted: 3)))
    let mixed =
      #"{"accepted":2,"rejected":[{"index":2,"event_id":"x","code":"invalid_name","message":"Bad."}],"clamped":[{"index":1,"event_id":"y"},{"index":0}]}"#
    let receipt = BatchReceipt(
      accepted: 2, rejected: [.init(index: 2, code: "invalid_name", message: "Bad.")], clamped: [0, 1])
    #expect(judge(200, mixed) == .delivered(receipt))
    let bare = #"{"accepted":0,"rejected":[{"index":1},{"index":0,"code":7},{"index":2}],"clamped":[]}"#
    #expect(
      judge(200, bare)
        == .delivered(
          BatchReceipt(
            accepted: 0, rejected: (0..<3).map { .init(index: $0, code: "", message: "") })))
  }

  @Test(
    "200 whose counts can't be true: delivered, with a mark, what makes sense kept",
    arguments: [
      (#"{"accepted":2,"rejected":[],"clamped":[]}"#, 2, []), (#"{"accepted":4,"rejected":[],"clamped":[]}"#, 4, []),
      (#"{"accepted":-3,"rejected":[],"clamped":[]}"#, 0, []), (#"{"accepted":3.5,"rejected":[],"clamped":[]}"#, 0, []),
      (#"{"accepted":99999999999999999999,"rejected":[],"clamped":[]}"#, 0, []),
      (#"{"accepted":3,"rejected":[{"index":0}],"clamped":[]}"#, 3, [0]),
      (#"{"accepted":2,"rejected":[{"index":3}],"clamped":[]}"#, 2, []),
      (#"{"accepted":2,"rejected":[{"index":-1}],"clamped":[]}"#, 2, []),
      (#"{"accepted":2,"rejected":[{"index":"0"}],"clamped":[]}"#, 2, []),
      (#"{"accepted":2,"rejected":[0],"clamped":[]}"#, 2, []),
      (#"{"accepted":1,"rejected":[{"index":1},{"index":1}],"clamped":[]}"#, 1, [1]),
      (#"{"accepted":2,"rejected":[{"index":1}],"clamped":[{"index":1}]}"#, 2, [1]),
      (#"{"accepted":3,"rejected":[],"clamped":[{"index":1},{"index":1}]}"#, 3, []),
      (#"{"accepted":3,"rejected":[],"clamped":[{}]}"#, 3, []),
      (#"{"accepted":2,"rejected":[{"index":1.0}],"clamped":[]}"#, 2, []),
    ] as [(String, Int, [Int])])
  func nonsense(_ body: String, _ accepted: Int, _ rejected: [Int]) {
    guard case .delivered(let receipt) = judge(200, body) else {
      Issue.record("not delivered")
      return
    }
    #expect(!receipt.countsAddUp)
    #expect(receipt.accepted == accepted)
    #expect(receipt.rejected.map(\.index) == rejected)
  }

  @Test(
    "200 without a body as the spec has it: something stands between us and the upstream",
    arguments: [
      "", page, "{}", "[]", "null", "OK", #"{"accepted":3}"#, #"{"accepted":3,"rejected":[]}"#,
      #"{"accepted":"3","rejected":[],"clamped":[]}"#,
      #"{"accepted":3,"rejected":{},"clamped":[]}"#, #"{"accepted":3,"rejected":null,"clamped":null}"#,
      #"{"accepted":,"rejected":[],"clamped":[]}"#,
      #"{"accepted":03,"rejected":[],"clamped":[]}"#, #"{"accepted":3,"rejected":[],"clamped":[]"#,
      #"{"accepted":3,"rejected":[],"clamped":[]}}"#,
    ])
  func portal(_ body: String) { #expect(judge(200, body) == .retry(after: nil, reason: .foreign(status: 200))) }

  @Test("200 with a body that was too long to keep: the same")
  func cutBody() {
    #expect(
      judge(200, #"{"accepted":3,"rejected":[],"clamped":[]}"#, isCut: true)
        == .retry(after: nil, reason: .foreign(status: 200)))
  }

  @Test("another 2xx: delivered", arguments: [201, 202, 204, 299])
  func otherSuccess(_ status: Int) {
    #expect(judge(status) == .delivered(BatchReceipt(accepted: 3)))
    #expect(judge(status, page, sent: 1, route: .identify) == .delivered(BatchReceipt(accepted: 1)))
  }

  @Test("identify: 200 is believed when it isn't a page")
  func identify() {
    for body in ["", "\n", "{}", #"{"ok":true}"#] {
      #expect(judge(200, body, sent: 1, route: .identify) == .delivered(BatchReceipt(accepted: 1)))
    }
    #expect(judge(200, page, sent: 1, route: .identify) == .retry(after: nil, reason: .foreign(status: 200)))
    #expect(
      judge(400, errorObject, sent: 1, route: .identify) == .badRequest(code: "some_code", message: "Some words."))
  }

  @Test("429: wait, whoever says so", arguments: ["", errorObject, page])
  func rateLimited(_ body: String) {
    #expect(judge(429, body) == .retry(after: nil, reason: .rateLimited))
    #expect(judge(429, body, retryAfter: ["7"]) == .retry(after: RetryAfter(delay: .seconds(7)), reason: .rateLimited))
    #expect(
      judge(429, body, retryAfter: ["99999"])
        == .retry(after: RetryAfter(delay: .seconds(3600), wasCut: true), reason: .rateLimited))
  }

  @Test("5xx: retry, with the server's delay", arguments: [500, 502, 503, 504, 521, 599])
  func serverError(_ status: Int) {
    #expect(judge(status, errorObject) == .retry(after: nil, reason: .serverError(status: status)))
    #expect(
      judge(status, page, retryAfter: ["5"])
        == .retry(after: RetryAfter(delay: .seconds(5)), reason: .serverError(status: status)))
  }

  @Test("413: halve; a single event is given up only for the API's own word")
  func tooLarge() {
    #expect(judge(413, errorObject) == .tooLarge(code: "some_code", message: "Some words."))
    #expect(judge(413, page) == .tooLarge(code: nil, message: nil))
    #expect(judge(413, errorObject, sent: 1) == .tooLarge(code: "some_code", message: "Some words."))
    #expect(judge(413, page, sent: 1) == .retry(after: nil, reason: .foreign(status: 413)))
  }

  @Test("400 with the error object: halve; without: an outage")
  func badRequest() {
    #expect(judge(400, errorObject) == .badRequest(code: "some_code", message: "Some words."))
    #expect(judge(400, page) == .retry(after: nil, reason: .foreign(status: 400)))
  }

  @Test(
    "another 4xx: refused with the error object, an outage without",
    arguments: [401, 402, 403, 404, 407, 408, 418, 451])
  func refused(_ status: Int) {
    #expect(judge(status, errorObject) == .refused(status: status, code: "some_code", message: "Some words."))
    let outage = UpstreamVerdict.retry(after: nil, reason: .foreign(status: status))
    for body in [
      "", page, "{}", #"{"code":"a"}"#, #"{"message":"a"}"#, #"{"code":1,"message":"a"}"#,
      #"{"code":"","message":"a"}"#,
      #"{"error":{"code":"a","message":"b"}}"#, #"[{"code":"a","message":"b"}]"#, errorObject + "x",
    ] {
      #expect(judge(status, body) == outage)
    }
    #expect(judge(status, errorObject, isCut: true) == outage)
  }

  @Test("redirects and what is no status: an outage", arguments: [0, 100, 199, 300, 301, 302, 307, 308, 399, 600, 999])
  func others(_ status: Int) {
    #expect(judge(status, errorObject) == .retry(after: nil, reason: .foreign(status: status)))
  }

  @Test("an upstream's words are cut short and lose their control characters")
  func bounds() {
    let long = String(repeating: "é", count: 1000)
    let object = JSONValue.object([
      .init("code", .string("a\u{1B}[31m\n\u{0}\u{85}\u{7F}" + long)), .init("message", .string(long)),
    ])
    guard case .refused(_, let code, let message) = judge(403, object.description) else {
      Issue.record("not refused")
      return
    }
    #expect(code.hasPrefix("a[31mé"))
    #expect(code.utf8.count <= 64 && code.utf8.count > 60)
    #expect(message.utf8.count == 512)
  }
}
