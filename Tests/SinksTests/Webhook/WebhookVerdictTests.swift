import Clocks
import EventLog
import HTTPClient
import Observability
import Testing

@testable import Sinks

@Suite("What a webhook's answer means")
struct WebhookVerdictTests {
  private let now = Timestamp(milliseconds: 1_792_757_071_512)

  private func judge(_ status: Int, _ body: String = "", after: String? = nil) -> WebhookVerdict {
    let headers = after.map { [(name: "retry-after", value: $0)] } ?? []
    return .judge(HTTPAnswer(status: status, headers: headers, body: Array(body.utf8)), now: now)
  }

  @Test("2xx is delivered, whatever the body is", arguments: [200, 201, 202, 204, 206, 299])
  func delivered(_ status: Int) { #expect(judge(status, "<html>") == .delivered) }

  @Test(
    "408, 425, 5xx and 429 are tried again, no sooner than is asked for",
    arguments: [408, 425, 429, 500, 503, 504, 599])
  func retried(_ status: Int) {
    let trouble = status == 429 ? WebhookTrouble.rateLimited : .fault(status: status)
    #expect(judge(status) == .retry(trouble, after: nil))
    #expect(judge(status, after: "7") == .retry(trouble, after: RetryAfter(delay: .seconds(7))))
    #expect(
      judge(status, after: "Fri, 23 Oct 2026 12:05:31 GMT")
        == .retry(trouble, after: RetryAfter(delay: .milliseconds(59_488))))
    #expect(trouble.state == .waiting && trouble.detail.contains("\(status)"))
  }

  @Test("a redirect is a wrong URL, tried again where it was", arguments: [300, 301, 302, 303, 304, 307, 308])
  func redirects(_ status: Int) {
    #expect(judge(status) == .retry(.redirect(status: status), after: nil))
    #expect(WebhookTrouble.redirect(status: status).state == .foreign)
    #expect(judge(status).outcome == .foreign)
  }

  @Test("what no receiver says is a proxy's", arguments: [407, 600, 101, 199])
  func foreign(_ status: Int) { #expect(judge(status) == .retry(.foreign(status: status), after: nil)) }

  @Test(
    "410 is the end, and any other 4xx a refusal with its words",
    arguments: [400, 401, 403, 404, 413, 418, 422, 451, 499])
  func refused(_ status: Int) {
    #expect(judge(410, after: "5") == .gone)
    #expect(judge(status, "no") == .refused(status: status, message: "no"))
    #expect(judge(status, " \n") == .refused(status: status, message: nil))
    #expect(judge(status).outcome == (status == 413 ? .tooLarge : .refused))
  }

  @Test("no answer is tried again")
  func network() {
    for kind in TransportFailure.Kind.allCases {
      let verdict = WebhookVerdict.judge(.failure(TransportFailure(kind: kind, description: "as it was")), now: now)
      guard case .retry(let trouble, nil) = verdict else {
        Issue.record("\(verdict)")
        continue
      }
      #expect(trouble.detail.contains(kind.rawValue) && trouble.detail.contains("as it was"))
      #expect(verdict.outcome == .network && trouble.status == nil)
    }
  }

  @Test("a receiver's words are kept on one line, in a bounded number of bytes, without control characters")
  func words() {
    #expect(WebhookVerdict.message(of: Array("\r\n a\t\u{1B}\n b\u{7F}\u{2028}c \u{0}".utf8)) == "a b c")
    let long = WebhookVerdict.message(of: Array(String(repeating: "ü", count: 4000).utf8))
    #expect(long?.utf8.count == 512)
    #expect(WebhookVerdict.message(of: [0xFF, 0x61]) == "\u{FFFD}a")
    #expect(WebhookVerdict.message(of: []) == nil)
  }
}
