import EventLog
import Testing

@testable import Delivery

@Suite("A batch that is refused for what is in it")
struct SplittingTests {
  private let scene = Scene()

  /// Takes requests without these numbers; refuses others as a whole.
  private func refuse(_ bad: Set<Int>, _ status: Int, _ code: String) {
    scene.upstream.answers { sent in
      sent.numbers.contains(where: bad.contains) ? .error(status, code) : .accepted(sent)
    }
  }

  /// The numbers that were taken, in their order.
  private func taken(without bad: Set<Int>) -> [Int] {
    scene.upstream.sent.map(\.numbers).filter { !$0.contains(where: bad.contains) }.flatMap { $0 }
  }

  @Test("finds the one bad event of a hundred, and delivers the other 99 in order", arguments: [1, 2, 37, 50, 51, 100])
  func oneBad(bad: Int) async {
    scene.store(1...150)
    refuse([bad], 400, "invalid_body")
    let life = await scene.start()
    #expect(taken(without: [bad]) == (1...150).filter { $0 != bad })
    #expect(scene.deadLetterNumbers == [bad])
    #expect(scene.deadLetters.allSatisfy { $0.reason == "refused" && $0.status == 400 && $0.code == "invalid_body" })
    #expect(life.ledger.settled == Tally([.delivered: 149, .refused: 1]))
    #expect(scene.upstream.sent.count <= 17)
    #expect(scene.upstream.sent.last?.numbers == Array(101...150), "full batches again")
    let sentWithBad = scene.upstream.sent.count { $0.numbers.contains(bad) }
    #expect(scene.deadLetters.first?.attempts == sentWithBad)
  }

  @Test("finds several")
  func severalBad() async {
    let bad: Set<Int> = [3, 4, 77, 99, 100]
    scene.store(1...100)
    refuse(bad, 400, "invalid_body")
    let life = await scene.start()
    #expect(taken(without: bad) == (1...100).filter { !bad.contains($0) })
    #expect(scene.deadLetterNumbers == bad.sorted())
    #expect(life.ledger.settled == Tally([.delivered: 95, .refused: 5]))
  }

  @Test("is halved after a 413 too; a single event that is too large is given up as that")
  func tooLarge() async {
    scene.store(1...10)
    refuse([6], 413, "payload_too_large")
    let life = await scene.start()
    #expect(scene.deadLetterNumbers == [6])
    #expect(scene.deadLetters.first?.reason == "too_large")
    #expect(scene.deadLetters.first?.status == 413)
    #expect(scene.deadLetters.first?.code == "payload_too_large")
    #expect(life.ledger.settled == Tally([.delivered: 9, .tooLarge: 1]))
  }

  @Test("a proxy's 413 halves a batch, but costs no single event its life")
  func foreignTooLarge() async {
    scene.store(1...2)
    scene.upstream.answers { _ in .status(413, "<html>too large</html>") }
    let life = await scene.start()
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2], [1]])
    #expect(life.status.state == .foreign)
    #expect(life.status.pending.events == 2)
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(30))
    #expect(life.ledger.settled == Tally([.delivered: 2]))
    #expect(scene.upstream.sent.map(\.numbers) == [[1, 2], [1], [1], [2]])
  }

  @Test("halving survives an outage in the middle of it")
  func outageMeanwhile() async {
    scene.store(1...100)
    scene.upstream.answers { sent in
      if sent.number == 4 { return .noConnection }
      return sent.numbers.contains(10) ? .error(400, "invalid_body") : .accepted(sent)
    }
    let life = await scene.start()
    #expect(life.status.state == .waiting)
    scene.simulation.advance(by: .seconds(30))
    #expect(scene.deadLetterNumbers == [10])
    #expect(life.ledger.settled == Tally([.delivered: 99, .refused: 1]))
  }

  @Test("an identify call that is refused goes alone")
  func identify() async {
    scene.store([1])
    scene.log.append("{}", kind: .identify, receivedAt: scene.simulation.wallClock.now)
    scene.store([2])
    scene.upstream.answers { $0.route == "identify" ? .error(400, "invalid_body") : .accepted($0) }
    let life = await scene.start()
    #expect(scene.upstream.sent.map(\.route) == ["events", "identify", "events"])
    #expect(scene.deadLetters.map(\.kind) == ["identify"])
    #expect(life.ledger.settled == Tally([.delivered: 2, .refused: 1]))
  }
}
