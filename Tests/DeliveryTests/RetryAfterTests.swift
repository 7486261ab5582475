import Clocks
import DeadLetters
import EventLog
import HTTPClient
import TestSupport
import Testing

@testable import Delivery

@Suite("Retry-After, from the header to the lane's delay", .timeLimit(.minutes(2)))
struct RetryAfterTests {
  private let scene = Scene()

  /// Headers as they came, and what a lane waits in seconds that would wait 30 by itself: after a 429, after a 503.
  ///
  /// The answer comes at 2026-10-23T12:00:00Z.
  private static let table: [([String], Int, Int)] = [
    ([], 30, 30), (["7"], 7, 30), (["0"], 0, 30), ([" 5 "], 5, 30), (["1.5"], 2, 30), (["-3"], 30, 30),
    (["abc"], 30, 30), ([""], 30, 30), (["45"], 45, 45), (["7", "45"], 45, 45), (["45", "7"], 45, 45),
    (["abc", "4"], 4, 30), (["-3", ""], 30, 30), (["12345678901234567890"], 3600, 3600), (["3601"], 3600, 3600),
    (["Fri, 23 Oct 2026 11:59:00 GMT"], 0, 30), (["Fri, 23 Oct 2026 12:01:30 GMT"], 90, 90),
    (["Sat, 23 Oct 2027 12:00:00 GMT"], 3600, 3600), (["Fri, 32 Oct 2026 12:01:30 GMT"], 30, 30),
    (["Fri, 23 Oct 2026 12:01:30 GMT", "100"], 100, 100), (["7, 8"], 30, 30),
  ]

  @Test("is obeyed to the second after a 429; after a 503 the longer of the two holds", arguments: table)
  func waits(_ headers: [String], _ rateLimited: Int, _ fault: Int) async {
    for (status, seconds) in [(429, rateLimited), (503, fault)] {
      let scene = Scene()
      #expect("\(scene.simulation.wallClock.now)" == "2026-10-23T12:00:00.000Z")
      // Of two installs: a lone one that is refused waits for a second at least.
      for number in 1...2 { scene.store([number], install: UInt64(number)) }
      scene.upstream.next(.status(status, "", headers.map { ("retry-after", $0) }))
      _ = await scene.start()
      scene.simulation.advance { scene.upstream.sent.count >= 2 }
      let sent = scene.upstream.sent
      #expect(sent[1].at - sent[0].at == .seconds(seconds), "\(status) with \(headers)")
      let cuts = scene.lines.value.count { $0.contains("over an hour") }
      #expect(cuts == (seconds == 3600 ? 1 : 0), "\(status) with \(headers)")
    }
  }

  @Test("that asks for hours again and again is logged in each of the hours, for each app")
  func longAgain() async {
    let apps = ["ios", "android"]
    for app in apps { scene.keys.set(app, "aso_wk_\(app)") }
    scene.upstream.answers { _ in .error(429, "rate_limited", retryAfter: "7200") }
    let life = await scene.start()
    // Within the hours that are counted from the start.
    scene.simulation.advance(by: .seconds(600))
    for (number, app) in apps.enumerated() { scene.store([number], app: app) }
    life.subscription.progress()
    scene.simulation.settle()
    func lines(_ words: String) -> [String] {
      scene.lines.value.filter { $0.contains(words) }.compactMap { line in apps.first { line.contains("app=\($0)") } }
    }
    #expect(lines("over an hour").sorted() == ["android", "ios"])
    scene.simulation.advance(by: .seconds(3600))
    // (The logger itself would hold back more than five.)
    #expect(lines("over an hour").sorted() == ["android", "android", "ios", "ios"])
    scene.simulation.advance(by: .seconds(9 * 3600))
    #expect(scene.upstream.sent.count == 22)
    #expect(lines("for another try").sorted() == ["android", "ios"])
  }

  /// Header lines as they go over the wire, and the wait in seconds that the status shows.
  private static let lines: [([String], Double)] = [
    (["Retry-After: 7"], 7), (["Retry-After:   5 \t"], 5), (["retry-after: 1.5"], 2), (["Retry-After: -3"], 30),
    (["Retry-After: abc"], 30), (["Retry-After:"], 30), (["Retry-After: 7", "RETRY-AFTER: 45"], 45),
    (["Retry-After: 12345678901234567890"], 3600), (["Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"], 3600),
    (["Retry-After: \u{FF15}"], 30), (["Retry-After : 9"], 30),
  ]

  @Test("comes through a real connection as it was sent", arguments: lines)
  func overTheWire(_ headers: [String], _ seconds: Double) async throws {
    let server = ScriptedServer { connection, _ in
      while connection.readRequest() != nil {
        connection.answer("429 Too Many Requests", "{}", headers: headers)
      }
    }
    let loop = HTTPClientLoop(logger: scene.logger)
    loop.start()
    let subscription = FakeSubscription(scene.log)
    let destination = UpstreamDestination(
      upstreams: Upstreams(
        usual: UpstreamConfiguration(
          url: "http://127.0.0.1:\(server.port)", linger: .zero, retry: .init(jitter: 0))), subscription: subscription,
      client: loop, scheduler: loop, keys: scene.keys,
      deadLetters: DeadLetterStore(directory: scene.deadLetterDirectory, logger: scene.logger), relay: "test-relay",
      metrics: scene.metrics, logger: scene.logger)
    scene.store([1])
    let began = WallClock.system.now
    destination.start()
    // (The suite's time limit ends a wait in vain.)
    try await lookAgain { destination.status.retryAt == nil }
    let retryAt = try #require(destination.status.retryAt)
    let answered = retryAt - .seconds(seconds)
    // A moment's milliseconds are cut off, at either end.
    let moments = began - .milliseconds(1)...WallClock.system.now + .milliseconds(1)
    #expect(moments.contains(answered), "\(headers): \(retryAt), begun at \(began)")
    #expect(destination.status.state == .waiting)
    await destination.stop(until: .now)
    await loop.shutdown()
  }
}
