import Clocks
import Dialects
import EventLog
import HTTPClient
import Testing

@testable import Delivery

/// The retry tables of the protocols' references, row by row, as the engine keeps to them.
@Suite("The retry tables of Datalyr and Voidhash")
struct RetryTableTests {
  private let scene = Scene()

  private func dialect(_ name: String) throws -> any Dialect { try #require(DialectRegistry.dialect(named: name)) }

  private func configuration(_ name: String) throws -> UpstreamConfiguration {
    var configuration = UpstreamConfiguration(defaultsOf: try dialect(name))
    // (An upstream's own delays; batches are others' matter.)
    configuration.linger = .zero
    return configuration
  }

  private func start(_ name: String, events: Int = 1, roll: Double = 0) async throws -> Scene.Life {
    scene.store(1...events, app: name, dialect: try dialect(name).number)
    return await scene.start(byApp: [name: try configuration(name)], roll: roll)
  }

  /// Seconds between one try and the next, as long as the upstream answers like this.
  private func waits(_ name: String, _ replies: [FakeUpstream.Reply], roll: Double = 0) async throws -> [Double] {
    for reply in replies { scene.upstream.next(reply) }
    if name == "voidhash" { scene.upstream.answers { _ in .status(202, #"{"accepted":1,"rejected":0}"#) } }
    let life = try await start(name, roll: roll)
    scene.simulation.advance { life.status.pending.events == 0 }
    #expect(life.ledger.settled == Tally(.delivered, 1))
    let moments = scene.upstream.sent.map(\.at)
    return zip(moments, moments.dropFirst()).map { ($1 - $0).seconds }
  }

  private func limited(_ seconds: String? = nil, _ body: String = "") -> FakeUpstream.Reply {
    .status(429, body, seconds.map { [("retry-after", $0)] } ?? [])
  }

  private func failures(_ status: Int, _ count: Int) -> [FakeUpstream.Reply] {
    Array(repeating: status == 0 ? .noConnection : .status(status), count: count)
  }

  // MARK: Datalyr

  @Test(
    "Datalyr: 5xx and no answer wait 1, 2 and 4 s and up to a second, and then 30 s for ever", arguments: [0, 500, 503])
  func datalyrFailures(status: Int) async throws {
    #expect(try await waits("datalyr", failures(status, 9)) == [1, 2, 4, 30, 30, 30, 30, 30, 30])
    #expect(scene.deadLetters.isEmpty)
  }

  @Test("Datalyr: the random part is up to a second")
  func datalyrJitter() async throws {
    #expect(try await waits("datalyr", failures(503, 4), roll: 0.5) == [1.5, 2.5, 4.5, 30])
  }

  @Test(
    "Datalyr: 429 and 408 wait as asked, 0 to 30 s, and a second when they don't ask", arguments: [429, 408])
  func datalyrAsked(status: Int) async throws {
    let asked = ["7", "0", "30", "100"].map { FakeUpstream.Reply.status(status, "", [("retry-after", $0)]) }
    #expect(try await waits("datalyr", asked + [.status(status)]) == [7, 0, 30, 30, 1])
  }

  @Test("Datalyr: whoever looks is told which of the two it was", arguments: [408, 429])
  func datalyrWords(status: Int) async throws {
    scene.upstream.next(.status(status, "", [("retry-after", "7")]))
    let life = try await start("datalyr")
    #expect(life.status.lanes.first?.detail?.contains("answered \(status), ") == true)
  }

  @Test("Datalyr: five such waits are apart from the retries")
  func datalyrBudget() async throws {
    let replies = [
      limited("3"), .status(503), limited("3"), .status(503), limited(), limited(), limited(), .status(503),
    ]
    #expect(try await waits("datalyr", replies + failures(503, 1)) == [3, 1, 3, 2, 1, 1, 1, 4, 30])
  }

  @Test("Datalyr: further ones count as failures")
  func datalyrBudgetUsedUp() async throws {
    #expect(
      try await waits("datalyr", Array(repeating: limited(), count: 9)) == [1, 1, 1, 1, 1, 1, 2, 4, 30])
  }

  @Test("Datalyr: any 2xx is delivered", arguments: [200, 201, 202, 204])
  func datalyrDelivered(status: Int) async throws {
    scene.upstream.answers { _ in .status(status) }
    let life = try await start("datalyr")
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.delivered, 1))
    #expect(scene.upstream.sent.map(\.url) == ["https://ingest.datalyr.com/track"])
    #expect(try configuration("datalyr").timeout == .seconds(15))
  }

  @Test("Datalyr: other 4xx go to the dead letters", arguments: [400, 401, 403, 404, 409, 410, 413, 422])
  func datalyrRefused(status: Int) async throws {
    scene.upstream.answers { $0.all == [1] ? .status(status) : .accepted($0) }
    let life = try await start("datalyr", events: 2)
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([status == 413 ? .tooLarge : .refused: 1, .delivered: 1]))
    #expect(scene.deadLetters.map(\.status) == [status])
  }

  @Test("Datalyr: 100 requests in any 60 s, by waiting")
  func datalyrLimit() async throws {
    let life = try await start("datalyr", events: 250)
    scene.simulation.advance(by: .seconds(59))
    #expect(scene.upstream.sent.count == 100)
    scene.simulation.advance(by: .seconds(130))
    #expect(life.ledger.settled == Tally(.delivered, 250))
    let moments = scene.upstream.sent.map(\.at)
    for (first, last) in zip(moments, moments.dropFirst(100)) { #expect(last - first >= .seconds(60)) }
  }

  // MARK: Voidhash

  @Test(
    "Voidhash: failures wait 1, 2, 4, 8 s; the fifth opens the breaker for 30 s, doubling to 300 s",
    arguments: [0, 408, 500, 502, 503, 504, 200, 201, 204])
  func voidhashFailures(status: Int) async throws {
    #expect(try await waits("voidhash", failures(status, 10)) == [1, 2, 4, 8, 30, 60, 120, 240, 300, 300])
    #expect(scene.deadLetters.isEmpty)
  }

  @Test("Voidhash: up to a quarter is added at random")
  func voidhashJitter() async throws {
    #expect(try await waits("voidhash", failures(503, 4), roll: 0.5) == [1.125, 2.25, 4.5, 9])
  }

  @Test("Voidhash: a 429 doesn't count for the breaker")
  func voidhashLimited() async throws {
    #expect(
      try await waits("voidhash", Array(repeating: limited(), count: 9)) == [1, 2, 4, 8, 16, 30, 30, 30, 30])
  }

  @Test("Voidhash: Retry-After, else retry_after_ms, is waited for, 30 s at most")
  func voidhashAsked() async throws {
    // (74 s after the simulation's beginning.)
    let date = "Fri, 23 Oct 2026 12:01:14 GMT"
    let replies = [
      limited("12"), limited(nil, #"{"retry_after_ms":7000}"#), limited("5", #"{"retry_after_ms":9000}"#),
      limited("3600"), limited(date),
    ]
    #expect(try await waits("voidhash", replies) == [12, 7, 5, 30, 20])
  }

  @Test("Voidhash: other statuses go to the dead letters", arguments: [404, 405, 409, 410, 415, 422, 451, 501])
  func voidhashRefused(status: Int) async throws {
    scene.upstream.answers { _ in .status(status, #"{"_tag":"X","error":"why","code":"c"}"#) }
    let life = try await start("voidhash", events: 3)
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally(.refused, 3))
    #expect(scene.deadLetters.allSatisfy { $0.status == status && $0.code == "c" })
  }

  @Test("Voidhash: a 413 halves the batch; a lone event goes to the dead letters")
  func voidhashTooLarge() async throws {
    scene.upstream.answers { sent in
      sent.numbers.count > 2 || sent.numbers == [7]
        ? .status(413, #"{"_tag":"X","error":"why","code":"payload_too_large"}"#)
        : sent.numbers.contains(7) ? .status(413) : .status(202, #"{"accepted":\#(sent.numbers.count),"rejected":0}"#)
    }
    let life = try await start("voidhash", events: 20)
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([.delivered: 19, .tooLarge: 1]))
    #expect(scene.deadLetterNumbers == [7])
  }

  @Test("Voidhash: a 400 is bisected until the bad ones are alone, in order")
  func voidhashBadRequest() async throws {
    scene.upstream.answers { sent in
      sent.numbers.contains(13) || sent.numbers.contains(14)
        ? .status(400, #"{"_tag":"X","error":"why","code":"invalid_request"}"#)
        : .status(202, #"{"accepted":\#(sent.numbers.count),"rejected":0}"#)
    }
    let life = try await start("voidhash", events: 100)
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([.delivered: 98, .refused: 2]))
    let taken = scene.upstream.sent.filter { !$0.numbers.contains(13) && !$0.numbers.contains(14) }
    #expect(taken.flatMap(\.numbers) == (1...100).filter { $0 != 13 && $0 != 14 })
  }

  @Test("Voidhash: 401 and 403 pause the key, and one batch asks after 60 s", arguments: [401, 403])
  func voidhashPause(status: Int) async throws {
    scene.upstream.answers { _ in .status(status, #"{"_tag":"X","error":"why","code":"unauthorized"}"#) }
    let life = try await start("voidhash", events: 250)
    scene.simulation.advance(by: .seconds(59))
    #expect(scene.upstream.sent.count == 1)
    scene.simulation.advance(by: .seconds(1))
    #expect(scene.upstream.sent.map(\.numbers) == [Array(1...100), Array(1...100)])
    scene.upstream.answers { .status(202, #"{"accepted":\#($0.numbers.count),"rejected":0}"#) }
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally(.delivered, 250) && scene.deadLetters.isEmpty)
  }

  @Test("Voidhash: after a breaker one request asks, before the others go")
  func voidhashProbe() async throws {
    scene.upstream.answers { _ in .status(503) }
    let life = try await start("voidhash", events: 300)
    scene.simulation.advance(by: .seconds(16))
    #expect(scene.upstream.sent.count == 5)
    scene.upstream.answers { _ in .hold }
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent.count == 6 && scene.upstream.inFlight == 1)
    #expect(life.status.pending.events == 300)
  }

  @Test("Voidhash: rejected ones are only counted")
  func voidhashRejected() async throws {
    scene.upstream.answers { _ in .status(202, #"{"accepted":17,"rejected":3}"#) }
    let life = try await start("voidhash", events: 20)
    scene.simulation.advance(by: .seconds(600))
    #expect(scene.upstream.sent.count == 1)
    #expect(life.ledger.settled == Tally(.delivered, 20))
    let metric = #"event_relay_destination_rejected_unnamed_events_total{destination="upstream"} 3"#
    #expect(scene.metrics.renderPrometheus().contains(metric))
  }

  @Test("Voidhash: a 408 is told as what it is")
  func voidhashTimeout() async throws {
    scene.upstream.next(.status(408))
    let life = try await start("voidhash")
    #expect(life.status.detail == "The upstream answered 408, the request took too long to come.")
  }

  @Test(
    "Voidhash: a redirect is one of the other statuses, and has the events dead-lettered", arguments: [301, 304, 308])
  func voidhashRedirect(status: Int) async throws {
    scene.upstream.answers { _ in .status(status, "", [("location", "https://elsewhere.example/")]) }
    let life = try await start("voidhash", events: 3)
    #expect(scene.upstream.sent.count == 1)
    #expect(life.ledger.settled == Tally(.refused, 3))
    #expect(scene.deadLetters.map(\.code) == Array(repeating: "http_\(status)", count: 3))
  }
}
