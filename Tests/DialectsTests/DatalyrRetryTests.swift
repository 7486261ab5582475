import Clocks
import EventsAPI
import Testing

@testable import Dialects

@Suite("Datalyr: what the upstream's answers mean")
struct DatalyrRetryTests {
  private let outgoing = OutgoingDatalyr()

  private func judge(
    _ status: Int, _ body: String = "", retryAfter: [String] = [], sent: Int = 1, isCut: Bool = false
  ) -> UpstreamVerdict {
    outgoing.judge(
      UpstreamAnswer(
        status: status, retryAfter: retryAfter, body: Array(body.utf8), isBodyCut: isCut, sentEvents: sent,
        now: DatalyrHall.received))
  }

  @Test("any 2xx: delivered, whatever the body", arguments: 200...299)
  func delivered(status: Int) {
    for body in ["", "{}", #"{"success":false}"#, "<html>"] {
      #expect(judge(status, body) == .delivered(BatchReceipt(accepted: 1)))
    }
    #expect(judge(status, sent: 7) == .delivered(BatchReceipt(accepted: 7)))
  }

  @Test(
    "429 and 408: later, when they say so, but within 30 s",
    arguments: [
      ([], nil), (["7"], 7), (["0"], 0), (["30"], 30), (["31"], 30), (["86400"], 30), (["-5"], nil), (["soon"], nil),
      (["1.2"], 2), (["Fri, 23 Oct 2026 12:04:41 GMT"], 10), (["Fri, 23 Oct 2026 12:00:00 GMT"], 0), (["3", "9"], 9),
    ] as [([String], Int?)])
  func later(header: [String], seconds: Int?) {
    for status in [408, 429] {
      guard case .retry(let after, .rateLimited) = judge(status, retryAfter: header) else {
        Issue.record("\(status) isn't waited for")
        return
      }
      if let seconds, header.first?.hasPrefix("Fri") == true {
        #expect(after.map { $0.delay > .seconds(seconds - 1) && $0.delay <= .seconds(seconds) } == true)
      } else {
        #expect(after?.delay == seconds.map { .seconds($0) })
      }
      #expect(after?.wasCut != true)
    }
  }

  @Test("5xx: later, by the relay's own delays", arguments: [500, 501, 502, 503, 504, 511, 599])
  func fault(status: Int) {
    #expect(judge(status, retryAfter: ["20"], sent: 3) == .retry(after: nil, reason: .serverError(status: status)))
  }

  @Test(
    "a redirect, and what is no answer: somebody else stands between", arguments: [100, 199, 301, 302, 304, 308, 600])
  func foreign(status: Int) {
    #expect(judge(status) == .retry(after: nil, reason: .foreign(status: status)))
  }

  @Test("any other 4xx: refused", arguments: (400...499).filter { ![408, 413, 429].contains($0) })
  func refused(status: Int) {
    #expect(
      judge(status, "<html>")
        == .refused(
          status: status, code: "http_\(status)", message: "The upstream answered \(status) without a reason."))
    #expect(
      judge(status, #"{"success":false,"error":"no\u0007 such key","code":"bad_key"}"#)
        == .refused(status: status, code: "bad_key", message: "no such key"))
  }

  @Test("400 and 413 to several events: in halves; to one: that one for good")
  func split() {
    let words = #"{"error":"bad"}"#
    #expect(judge(400, words, sent: 2) == .badRequest(code: "http_400", message: "bad"))
    #expect(judge(400, words, sent: 1) == .refused(status: 400, code: "http_400", message: "bad"))
    for sent in [1, 2] { #expect(judge(413, words, sent: sent) == .tooLarge(code: "http_413", message: "bad")) }
  }

  @Test(
    "the upstream's words are handed on in any of the common forms, and bounded",
    arguments: [
      (#"{"error":{"code":"c","message":"m"}}"#, "c", "m"), (#"{"message":"m","code":"c"}"#, "c", "m"),
      (#"{"error":"m","message":"other"}"#, "http_422", "m"), (#"{"code":7,"error":[]}"#, "http_422", nil),
      ("[]", "http_422", nil), ("null", "http_422", nil),
    ] as [(String, String, String?)])
  func words(body: String, code: String, message: String?) {
    let message = message ?? "The upstream answered 422 without a reason."
    #expect(judge(422, body) == .refused(status: 422, code: code, message: message))
    #expect(
      judge(422, body, isCut: true)
        == .refused(status: 422, code: "http_422", message: "The upstream answered 422 without a reason."))
  }

  @Test("words are bounded")
  func bounded() {
    let long = String(repeating: "x", count: 5000)
    guard case .refused(_, let code, let message) = judge(422, #"{"code":"\#(long)","error":"\#(long)"}"#) else {
      Issue.record("not refused")
      return
    }
    #expect(code.utf8.count == 64 && message.utf8.count == 512)
  }
}

@Suite("Datalyr: how long is waited")
struct DatalyrWaitTests {
  private let outgoing = OutgoingDatalyr()
  private let retry = OutgoingDatalyr().defaults.retry

  private func wait(
    _ count: Int, limited: Int = 0, isLimited: Bool = false, asked: Int? = nil, roll: Double = 0,
    _ other: RetryDelays? = nil
  ) -> Duration {
    outgoing.wait(
      after: FailedTries(
        count: count, rateLimited: limited, isRateLimited: isLimited,
        asked: asked.map { RetryAfter(delay: .seconds($0)) }, roll: roll), other ?? retry)
  }

  @Test(
    "after the n-th failure: 2 to the power of n seconds and up to one more, three times; then 30",
    arguments: zip([1, 2, 3, 4, 5, 50, 1_000_000], [1, 2, 4, 30, 30, 30, 30]))
  func failures(count: Int, seconds: Int) {
    #expect(wait(count) == .seconds(seconds))
    #expect(wait(count, roll: 0.5) == min(.seconds(seconds) + .milliseconds(500), .seconds(30)))
    #expect(wait(count, roll: 1) == min(.seconds(seconds + 1), .seconds(30)))
  }

  @Test("5 times what a 429 asks for, apart from the failures, and a second where it asks for nothing")
  func asked() {
    for nth in 1...5 {
      #expect(wait(nth, limited: nth, isLimited: true) == .seconds(1))
      #expect(wait(nth, limited: nth, isLimited: true, asked: 7, roll: 0.9) == .seconds(7))
      #expect(wait(nth, limited: nth, isLimited: true, asked: 0) == .zero)
      #expect(wait(nth, limited: nth, isLimited: true, asked: 3600) == .seconds(30))
    }
  }

  @Test("from the 6th 429 on it is a failure, and what it asks for holds at least")
  func further() {
    for (limited, seconds) in [(6, 1), (7, 2), (8, 4), (9, 30), (10, 30)] {
      #expect(wait(limited, limited: limited, isLimited: true) == .seconds(seconds))
      #expect(wait(limited, limited: limited, isLimited: true, asked: 10) == .seconds(max(seconds, 10)))
    }
    #expect(wait(6, limited: 6, isLimited: true, roll: 0.25) == .milliseconds(1250))
  }

  @Test("one row of tries, as the table has it")
  func row() {
    #expect(wait(1) == .seconds(1))
    #expect(wait(2, limited: 1, isLimited: true, asked: 7) == .seconds(7))
    #expect(wait(3, limited: 2, isLimited: true) == .seconds(1))
    #expect(wait(4, limited: 2) == .seconds(2))
    #expect(wait(5, limited: 2) == .seconds(4))
    #expect(wait(6, limited: 2) == .seconds(30))
    #expect(wait(9, limited: 5, isLimited: true) == .seconds(1))
    #expect(wait(10, limited: 6, isLimited: true, asked: 7) == .seconds(30))
  }

  @Test("other delays, when they are configured")
  func configured() {
    let other = RetryDelays(initial: .milliseconds(100), max: .seconds(60), jitter: 0.5)
    #expect(wait(1, other) == .milliseconds(100))
    #expect(wait(3, roll: 1, other) == .milliseconds(450))
    #expect(wait(4, other) == .seconds(60))
    let short = RetryDelays(initial: .seconds(5), max: .seconds(2), jitter: 1)
    #expect(wait(1, roll: 1, short) == .seconds(2))
  }
}
