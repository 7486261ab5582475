import Clocks
import EventsAPI
import Testing

@testable import Dialects

@Suite("What Voidhash's answer means")
struct VoidhashAnswerTests {
  private static let now = Timestamp(milliseconds: 784_111_777_000)  // Sun, 06 Nov 1994 08:49:37 GMT

  private func judge(
    _ status: Int, _ body: String = "", retryAfter: [String] = [], sent: Int = 3, isCut: Bool = false
  ) -> UpstreamVerdict {
    OutgoingVoidhash().judge(
      UpstreamAnswer(
        status: status, retryAfter: retryAfter, body: Array(body.utf8), isBodyCut: isCut, sentEvents: sent,
        now: Self.now))
  }

  private func receipt(_ accepted: Int, _ rejected: Int, addsUp: Bool = true) -> UpstreamVerdict {
    var receipt = BatchReceipt(accepted: accepted, countsAddUp: addsUp)
    receipt.unnamedRejections = rejected
    return .delivered(receipt)
  }

  private static let error = #"{"_tag":"E","error":"why","code":"said"}"#

  @Test("202 with both counts is delivered; the rejected ones are counted, and not sent again")
  func delivered() {
    #expect(judge(202, #"{"accepted":3,"rejected":0}"#) == receipt(3, 0))
    #expect(judge(202, #"{"rejected":2,"more":[],"accepted":1}"#) == receipt(1, 2))
    #expect(judge(202, #"{"accepted":0,"rejected":3}"#) == receipt(0, 3))
    #expect(judge(202, #"{"accepted":3.0,"rejected":0e1}"#) == receipt(3, 0))
  }

  @Test("counts that can't be true are believed as far as possible, and worth a line in the log")
  func oddCounts() {
    #expect(judge(202, #"{"accepted":1,"rejected":1}"#) == receipt(1, 1, addsUp: false))
    #expect(judge(202, #"{"accepted":4,"rejected":-1}"#) == receipt(3, 0, addsUp: false))
    #expect(judge(202, #"{"accepted":1e999,"rejected":9}"#) == receipt(3, 3, addsUp: false))
    #expect(judge(202, #"{"accepted":2.5,"rejected":0}"#) == receipt(2, 0, addsUp: false))
  }

  @Test(
    "202 without them and any other 2xx is somebody else's word: all is sent again",
    arguments: [
      (202, ""), (202, "{}"), (202, #"{"accepted":3}"#), (202, #"{"accepted":"3","rejected":"0"}"#),
      (202, #"{"accepted":3,"rejected":[]}"#), (202, "<html>"), (200, #"{"accepted":3,"rejected":0}"#), (201, ""),
      (204, ""), (207, ""), (299, ""),
    ])
  func foreign(status: Int, body: String) {
    #expect(judge(status, body) == .retry(after: nil, reason: .foreign(status: status)))
  }

  @Test("an answer too long to be read isn't believed")
  func cut() {
    let counts = #"{"accepted":3,"rejected":0}"#
    #expect(judge(202, counts, isCut: true) == .retry(after: nil, reason: .foreign(status: 202)))
    #expect(
      judge(404, Self.error, isCut: true)
        == .refused(status: 404, code: "http_404", message: "The upstream answered 404 and did not say why."))
  }

  @Test("408, 500, 502, 503 and 504 are tried again, and 429 is waited for", arguments: ["", error, "<html>"])
  func retried(body: String) {
    for status in [408, 500, 502, 503, 504] {
      #expect(judge(status, body) == .retry(after: nil, reason: .serverError(status: status)))
    }
    #expect(judge(429, body) == .retry(after: nil, reason: .rateLimited))
  }

  @Test("413 has a batch halved, 400 has the bad events found, with the upstream's words or ours")
  func halved() {
    #expect(judge(413, Self.error) == .tooLarge(code: "said", message: "why"))
    #expect(judge(400, Self.error) == .badRequest(code: "said", message: "why"))
    #expect(
      judge(413, "<html>") == .tooLarge(code: "http_413", message: "The upstream answered 413 and did not say why."))
    #expect(judge(400) == .badRequest(code: "http_400", message: "The upstream answered 400 and did not say why."))
  }

  @Test("401 and 403 refuse the key, and every other status the events, redirects too")
  func refused() {
    for status in [
      401, 403, 199, 301, 302, 304, 307, 399, 402, 404, 405, 409, 410, 415, 418, 422, 451, 499, 501, 505, 507, 520, 599,
    ] {
      #expect(judge(status, Self.error) == .refused(status: status, code: "said", message: "why"))
      #expect(
        judge(status)
          == .refused(
            status: status, code: "http_\(status)", message: "The upstream answered \(status) and did not say why."))
    }
  }

  @Test("an upstream's words are bounded, and hold no control characters")
  func bounded() {
    let long = String(repeating: "x", count: 2000)
    #expect(
      judge(404, #"{"code":"\#(long)","error":"a\u0007b\#(long)"}"#)
        == .refused(
          status: 404, code: String(repeating: "x", count: 64), message: "ab" + String(repeating: "x", count: 510)))
    #expect(judge(404, #"{"code":7,"message":"m"}"#) == .refused(status: 404, code: "http_404", message: "m"))
  }

  @Test(
    "a wait is taken from the header in seconds or as a date, else from the body, and cut to 30 s",
    arguments: [
      (["7"], "", 7000), (["0"], "", 0), (["1.2"], "", 2000), (["31"], "", 30_000), (["99999999999"], "", 30_000),
      (["Sun, 06 Nov 1994 08:49:52 GMT"], "", 15_000), (["Sun, 06 Nov 1994 09:49:37 GMT"], "", 30_000),
      (["Sun, 06 Nov 1994 08:00:00 GMT"], "", 0), (["7"], #"{"retry_after_ms":1500}"#, 7000),
      ([], #"{"retry_after_ms":1500}"#, 1500), (["soon"], #"{"retry_after_ms":1500}"#, 1500),
      ([], #"{"retry_after_ms":250.5}"#, 250), ([], #"{"retry_after_ms":0}"#, 0),
      ([], #"{"retry_after_ms":30001}"#, 30_000), ([], #"{"retry_after_ms":1e999}"#, 30_000),
      ([], #"{"retry_after_ms":-5}"#, nil), ([], #"{"retry_after_ms":"5"}"#, nil), (["soon"], "", nil), ([], "", nil),
    ] as [([String], String, Int64?)])
  func retryAfter(header: [String], body: String, milliseconds: Int64?) {
    for (status, reason) in [
      (429, RetryReason.rateLimited), (503, .serverError(status: 503)), (408, .serverError(status: 408)),
      (200, .foreign(status: 200)),
    ] {
      guard case .retry(let after, reason) = judge(status, body, retryAfter: header) else {
        Issue.record("\(status) is no retry")
        continue
      }
      #expect(after?.delay.milliseconds == milliseconds)
      #expect(after?.wasCut != true)
    }
  }
}
