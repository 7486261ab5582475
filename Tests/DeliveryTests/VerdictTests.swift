import Clocks
import DeadLetters
import EventLog
import EventsAPI
import HTTPClient
import JSON
import Records
import TestSupport
import Testing

@testable import Delivery

@Suite("The upstream's answers")
struct VerdictTests {
  private let scene = Scene()

  @Test("a batch that is taken is settled, and its numbers are on record soon after")
  func delivered() async throws {
    scene.store(1...250)
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.map(\.numbers) == [Array(1...100), Array(101...200), Array(201...250)])
    #expect(life.ledger.settled[.delivered] == 250)
    #expect(life.ledger.isBalanced)
    #expect(scene.log.disk.tally[.delivered] == 250)
    #expect(life.status.state == .running)
    #expect(life.status.lanes.isEmpty)
  }

  @Test("requests carry the app's key and go to the API's paths")
  func request() async {
    scene.store([1])
    scene.log.append(
      #"{"anonymous_id":"a","user_id":"u"}"#, kind: .identify, receivedAt: scene.simulation.wallClock.now)
    scene.store([2])
    scene.keys.set("ios", "aso_wk_1")
    _ = await scene.start(Scene.configuration(url: "http://upstream.test/v1/"))
    scene.simulation.settle()
    let sent = scene.upstream.sent
    #expect(
      sent.map(\.url) == [
        "http://upstream.test/v1/events", "http://upstream.test/v1/identify", "http://upstream.test/v1/events",
      ])
    #expect(sent.map(\.key) == ["aso_wk_1", "aso_wk_1", "aso_wk_1"])
    #expect(sent[1].body == Array(#"{"anonymous_id":"a","user_id":"u"}"#.utf8))
  }

  @Test("rejected events go to the dead letters with code and message; the others are delivered")
  func rejected() async throws {
    scene.store(1...3)
    scene.upstream.next(
      .status(
        200,
        #"{"accepted":2,"rejected":[{"index":1,"event_id":"x","code":"too_many_event_names","message":"500 names"}],"clamped":[]}"#
      ))
    let life = await scene.start()
    let letter = try #require(scene.deadLetters.first)
    #expect(scene.deadLetters.count == 1)
    #expect(letter.sequence == 2)
    #expect(letter.reason == "rejected")
    #expect(letter.status == 200)
    #expect(letter.code == "too_many_event_names")
    #expect(letter.message == "500 names")
    #expect(letter.attempts == 1)
    #expect(life.ledger.settled[.delivered] == 2)
    #expect(life.ledger.settled[.rejected] == 1)
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.log.disk.settled == [1, 2, 3])
    #expect(scene.log.disk.attachment?["dead_letters"]?["length"]?.integer() == deadLetterBytes)
  }

  @Test("rejections are counted by code; one for too many names warns once an app, and tells no name")
  func rejectionCodes() async {
    let codes = [
      "missing_field", "invalid_field", "invalid_name", "reserved_name", "invalid_event", "too_many_event_names",
      "too_many_event_names", "of_tomorrow",
    ]
    let known = Set(RejectionCode.allCases.map(\.rawValue))
    let life = await scene.start()
    for app in ["ios", "ios", "web"] {
      let rejected = codes.enumerated().map { at, code in
        #"{"index":\#(at),"event_id":null,"code":"\#(code)","message":"The name level_up_secret is one too many."}"#
      }
      scene.upstream.next(
        .status(200, #"{"accepted":0,"rejected":[\#(rejected.joined(separator: ","))],"clamped":[]}"#))
      scene.store(codes.indices, app: app)
      life.subscription.progress()
      scene.simulation.advance(by: .seconds(1))
    }
    #expect(life.ledger.settled == Tally(.rejected, 3 * codes.count))
    let page = scene.metrics.renderPrometheus()
    for code in known.union(["other"]) {
      let count = 3 * codes.count { code == "other" ? !known.contains($0) : $0 == code }
      #expect(
        page.contains(
          #"event_relay_destination_rejected_events_total{destination="upstream",code="\#(code)"} \#(count)\#n"#),
        "\(code)")
    }
    let warnings = scene.lines.value.filter { $0.contains("knows 500 event names") }
    #expect(
      warnings.count == 2 && warnings.contains { $0.contains("app=web") }
        && warnings.contains { $0.contains("app=ios") })
    #expect(!scene.lines.value.contains { $0.contains("level_up_secret") })
  }

  private var deadLetterBytes: Int {
    let reader = DeadLetterReader(directory: scene.deadLetterDirectory)
    return ((try? reader.files()) ?? []).reduce(0) { $0 + (readFile("\(scene.deadLetterDirectory)/\($1)")?.count ?? 0) }
  }

  @Test("a 200 whose counts don't add up counts as delivered, and is said once")
  func oddCounts() async {
    scene.store(1...3)
    scene.upstream.next(.status(200, #"{"accepted":7,"rejected":[],"clamped":[]}"#))
    let life = await scene.start()
    #expect(life.ledger.settled[.delivered] == 3)
    #expect(scene.lines.value.count { $0.contains("don't add up") } == 1)
  }

  @Test(
    "a refusal in the API's own words puts the whole batch into the dead letters",
    arguments: [(401, "invalid_write_key"), (403, "quota_exceeded"), (404, "not_found"), (415, "unsupported")])
  func refused(status: Int, code: String) async {
    scene.store(1...3)
    scene.upstream.next(.error(status, code, "no"))
    let life = await scene.start()
    #expect(scene.deadLetterNumbers == [1, 2, 3])
    #expect(scene.deadLetters.allSatisfy { $0.reason == "refused" && $0.status == status && $0.code == code })
    #expect(life.ledger.settled[.refused] == 3)
    #expect(life.status.state == (status == 401 || status == 403 ? .refused : .running))
    scene.store([4])
    life.subscription.progress()
    scene.simulation.settle()
    #expect(life.status.state == .running)
    #expect(life.ledger.settled[.delivered] == 1)
  }

  @Test("a key that the upstream repeats is shown nowhere")
  func keyInMessage() async {
    scene.keys.set("ios", "aso_wk_secret")
    scene.store([1])
    scene.upstream.next(.error(401, "invalid_write_key", "unknown: aso_wk_secret, really aso_wk_secret"))
    let life = await scene.start()
    #expect(scene.deadLetters.first?.message == "unknown: (key), really (key)")
    #expect(life.status.detail?.contains("(key)") == true)
    #expect(life.status.lastError?.contains("secret") == false)
    #expect(!scene.lines.value.contains { $0.contains("secret") })
  }

  @Test(
    "a refusal that isn't the API's own is an outage: retried, with a state that says so",
    arguments: [
      (200, "<html>log in</html>"), (302, ""), (403, "<html>blocked</html>"), (404, "nothing here"), (407, ""),
      (400, "<html>bad request</html>"), (304, ""), (401, #"{"error":"no"}"#),
    ])
  func foreign(status: Int, body: String) async {
    scene.store(1...2)
    scene.upstream.next(.status(status, body))
    let life = await scene.start()
    #expect(life.status.state == .foreign)
    #expect(life.status.detail?.contains("between us and the upstream") == true)
    #expect(life.status.lastError?.contains("\(status)") == true)
    #expect(life.status.pending.events == 2)
    #expect(life.status.retryAt == scene.simulation.wallClock.now + .seconds(30))
    scene.simulation.advance(by: .seconds(30))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2], [1, 2]])
    #expect(life.status.state == .running)
    #expect(life.ledger.settled[.delivered] == 2)
    #expect(scene.lines.value.contains { $0.contains("the upstream answers again") })
  }

  @Test("a 429 is obeyed to the second, and never earlier")
  func rateLimited() async {
    scene.store([1])
    scene.upstream.next(.error(429, "rate_limited", retryAfter: "17"))
    let life = await scene.start()
    #expect(life.status.state == .waiting)
    scene.simulation.advance(by: .milliseconds(16_999))
    #expect(scene.upstream.sent.count == 1)
    scene.simulation.advance(by: .milliseconds(1))
    #expect(scene.upstream.sent.count == 2)
    #expect(life.ledger.settled[.delivered] == 1)
  }

  @Test("a Retry-After of days is cut to an hour, and that is said")
  func absurdRetryAfter() async {
    scene.store([1])
    scene.upstream.next(.error(429, "rate_limited", retryAfter: "999999"))
    let life = await scene.start()
    #expect(life.status.retryAt == scene.simulation.wallClock.now + .seconds(3600))
    #expect(scene.lines.value.contains { $0.contains("over an hour") })
  }

  @Test("other 2xx answers mean delivered")
  func otherSuccess() async {
    scene.store([1])
    scene.upstream.next(.status(202, "queued"))
    let life = await scene.start()
    #expect(life.ledger.settled[.delivered] == 1)
  }

  /// Each answer, and the wait in seconds that follows it.
  private static let delays: [(FakeUpstream.Reply, Int)] = [
    (.noConnection, 30), (.status(503), 60), (.error(429, "rate_limited", retryAfter: "7"), 7),
    (.status(503, "", [("retry-after", "20")]), 240), (.error(429, "rate_limited"), 480),
    (.failure(TransportFailure(kind: .timeout, description: "timed out")), 600), (.status(500), 600),
    (.status(503, "", [("retry-after", "900")]), 900),
  ]

  @Test("delays double over an outage, and begin anew after an answer")
  func delayTable() async {
    scene.store([1])
    for (reply, _) in Self.delays { scene.upstream.next(reply) }
    let life = await scene.start()
    for (at, (_, seconds)) in Self.delays.enumerated() {
      #expect(scene.upstream.sent.count == at + 1)
      scene.simulation.advance(by: .seconds(seconds) - .milliseconds(1))
      #expect(scene.upstream.sent.count == at + 1, "after answer \(at)")
      scene.simulation.advance(by: .milliseconds(1))
    }
    #expect(life.ledger.settled[.delivered] == 1)
    scene.upstream.next(.status(500))
    scene.store([2])
    life.subscription.progress()
    scene.simulation.settle()
    #expect(life.status.retryAt == scene.simulation.wallClock.now + .seconds(30))
  }
}
