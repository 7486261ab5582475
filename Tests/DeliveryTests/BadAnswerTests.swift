import EventLog
import HTTPClient
import JSON
import TestSupport
import Testing

@testable import Delivery

@Suite("Answers that lie, and answers without end")
struct BadAnswerTests {
  private let scene = Scene()

  /// Lines that a log at its usual level has.
  private func said(_ text: String) -> Int {
    scene.lines.value.count { $0.contains(text) && !$0.contains("yet another try") }
  }

  /// Bodies of a 200 to three events, and whether they are sent once more.
  private static let lies: [(String, Bool)] = [
    (#"{"accepted":0,"rejected":[],"clamped":[]}"#, true), (#"{"accepted":2,"rejected":[],"clamped":[]}"#, true),
    (#"{"accepted":-1,"rejected":[],"clamped":[]}"#, true), (#"{"accepted":1e9,"rejected":[],"clamped":[]}"#, true),
    (#"{"accepted":2,"rejected":[{"index":3}],"clamped":[]}"#, true),
    (#"{"accepted":2,"rejected":[{"index":-1}],"clamped":[]}"#, true),
    (#"{"accepted":2,"rejected":[{"index":18446744073709551616}],"clamped":[]}"#, true),
    (#"{"accepted":1,"rejected":[{"index":1},{"index":1}],"clamped":[]}"#, true),
    (#"{"accepted":4,"rejected":[],"clamped":[]}"#, false),
    (#"{"accepted":9223372036854775807,"rejected":[],"clamped":[]}"#, false),
    (#"{"accepted":3,"rejected":[],"clamped":[{"index":7},{"index":7}]}"#, false),
  ]

  @Test(
    "a 200 that accounts for fewer events than were sent has them sent once more; then it is believed", arguments: lies)
  func fewer(_ body: String, _ isSentAgain: Bool) async {
    scene.store(1...3)
    scene.upstream.answers { _ in .status(200, body) }
    let life = await scene.start()
    #expect(scene.upstream.sent.count == 1)
    #expect(life.ledger.settled == (isSentAgain ? Tally() : Tally([.delivered: 3])))
    if isSentAgain { #expect(life.status.detail?.contains("of 3 events") == true) }
    scene.simulation.advance(by: .seconds(60))
    #expect(scene.upstream.sent.map(\.numbers) == Array(repeating: [1, 2, 3], count: isSentAgain ? 2 : 1))
    let tally = life.ledger.settled
    #expect(tally.total == 3 && tally[.delivered] >= 2 && life.ledger.isBalanced)
    #expect(said("don't add up") == 1)
    #expect(life.status.pending.events == 0)
  }

  @Test("what an upstream left out and takes the second time is delivered, without a word about counts")
  func tookLater() async {
    scene.store(1...3)
    scene.upstream.next(.status(200, #"{"accepted":1,"rejected":[{"index":1}],"clamped":[]}"#))
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(30))
    #expect(life.ledger.settled == Tally([.delivered: 3]))
    #expect(said("don't add up") == 0)
    #expect(scene.deadLetters.isEmpty)
  }

  @Test("an index beyond all bounds, or far too many of them, settles no event twice")
  func manyIndexes() async {
    scene.store(1...3)
    let entries = Array(repeating: #"{"index":1}"#, count: 50_000).joined(separator: ",")
    scene.upstream.answers { _ in .status(200, #"{"accepted":2,"rejected":[\#(entries)],"clamped":[\#(entries)]}"#) }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(60))
    #expect(life.ledger.settled == Tally([.delivered: 2, .rejected: 1]))
    #expect(scene.deadLetterNumbers == [2])
  }

  @Test("counts that never add up are logged once an hour and app, however many batches there are")
  func loggedOnce() async {
    scene.upstream.answers { _ in .status(200, #"{"accepted":1000,"rejected":[],"clamped":[]}"#) }
    scene.store(1...5000)
    let life = await scene.start()
    #expect(life.ledger.settled == Tally([.delivered: 5000]))
    #expect(said("don't add up") == 1)
    scene.simulation.advance(by: .seconds(3601))
    scene.store(5001...7000)
    life.subscription.progress()
    scene.simulation.settle()
    #expect(life.ledger.settled == Tally([.delivered: 7000]))
    #expect(said("don't add up") == 2)
  }

  private static let failures: [FakeUpstream.Reply] = [
    .status(503), .status(200, "<html>log in</html>"), .noConnection, .error(429, "rate_limited"),
    .failure(TransportFailure(kind: .timeout, description: "Operation timed out after 30001 milliseconds")),
    .failure(TransportFailure(kind: .protocolError, description: "the answer has more than 256 header lines")),
  ]

  @Test("a failure that goes on for a day is logged once, and again when it comes back", arguments: failures.indices)
  func failsForADay(_ at: Int) async {
    scene.store([1])
    scene.upstream.answers { _ in Self.failures[at] }
    let life = await scene.start()
    scene.simulation.advance(by: .seconds(86_400))
    #expect(scene.upstream.sent.count > 100)
    #expect(said("can't be reached") + said("events wait for another try") == 1)
    #expect(said("limits one install") <= 24)
    #expect(life.ledger.settled == Tally())
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(700))
    #expect(life.ledger.settled == Tally([.delivered: 1]))
    scene.upstream.answers { _ in Self.failures[at] }
    scene.store([2])
    life.subscription.progress()
    scene.simulation.advance(by: .seconds(86_400))
    #expect(said("can't be reached") + said("events wait for another try") == 2)
  }

  @Test("a key that is refused for a day is logged once, its batches too")
  func refusedForADay() async {
    scene.store(1...1000)
    scene.upstream.answers { _ in .error(401, "invalid_write_key") }
    _ = await scene.start()
    scene.simulation.advance(by: .seconds(86_400))
    #expect(scene.upstream.sent.count > 1000)
    #expect(said("again and again") == 1)
    #expect(said("refused events; they go") == 1)
  }

  @Test("refused batches that are all given up are logged once an hour and app")
  func burnsQuietly() async {
    scene.store(1...3000)
    scene.upstream.answers { _ in .error(401, "invalid_write_key") }
    var configuration = Scene.configuration()
    configuration.onRefusedKey = .deadLetter
    let life = await scene.start(configuration)
    #expect(life.ledger.settled == Tally([.refused: 3000]))
    #expect(said("refused events; they go") == 1)
  }
}
