import Clocks
import EventLog
import TestSupport
import Testing

@testable import Delivery

@Suite("Events that the upstream is sent again")
struct ReplayedLanesTests {
  private let scene = Scene()

  private struct Life {
    let log: FileLog
    let subscription: any Subscription
    let destination: UpstreamDestination
  }

  private func start() async throws -> Life {
    let log = try scene.openLog()
    let subscription = try log.subscribe("upstream", origin: .oldest)
    let destination = await scene.start(over: subscription)
    return Life(log: log, subscription: subscription, destination: destination)
  }

  private func replay(_ numbers: Range<Int>, app: String = "ios", _ life: Life) async throws {
    try scene.replay(numbers, app: app, in: life.log)
  }

  @Test("go with their app's key in batches of their own, and what is refused is a dead letter with its first number")
  func delivered() async throws {
    let life = try await start()
    scene.keys.set("kiosk", "aso_wk_kiosk")
    scene.upstream.answers { sent in
      sent.numbers.first == 500 ? .error(401, "invalid_write_key") : .accepted(sent)
    }
    try await replay(0..<150, app: "kiosk", life)
    await scene.simulation.settle { life.subscription.pending.events == 0 }
    #expect(scene.upstream.sent.map(\.key) == ["aso_wk_kiosk", "aso_wk_kiosk"])
    #expect(scene.upstream.sent.map(\.numbers.count) == [100, 50])
    try await replay(500..<510, app: "kiosk", life)
    await scene.simulation.settle { life.subscription.pending.events == 0 }
    #expect(scene.deadLetters.map(\.sequence) == Array(500..<510))
    let ledger = life.subscription.ledger
    #expect(ledger == Ledger(accepted: 0, settled: Tally([.delivered: 150, .refused: 10]), waiting: 0, replayed: 160))
    life.log.close()
  }

  @Test("a wait that the upstream asks for holds both lanes of an app, over a restart too; a failure only its own")
  func delays() async throws {
    var life = try await start()
    // Of the batch that fails, and of the first one that is sent again.
    scene.upstream.answers { sent in sent.numbers.contains(7) ? .status(503) : .accepted(sent) }
    try await replay(0..<10, life)
    await scene.simulation.settle { !scene.upstream.sent.isEmpty }
    try await replay(20..<30, app: "web", life)
    await scene.simulation.settle { scene.upstream.sent.count == 2 }
    #expect(scene.upstream.sent.last?.numbers == Array(20..<30))
    let status = life.destination.status
    #expect(status.lanes.map(\.isReplayed) == [true] && status.lanes.first?.state == .waiting)

    scene.upstream.answers { _ in .error(429, "rate_limited", retryAfter: "100") }
    scene.simulation.advance(by: .seconds(31))
    let sent = scene.upstream.sent.count
    try await replay(40..<50, life)
    await append(life)
    scene.simulation.advance(by: .seconds(90))
    #expect(scene.upstream.sent.count == sent, "new events of the app wait as well: it is the same key")
    await scene.simulation.drive { [destination = life.destination] in await destination.engine.die() }
    life.log.close()
    life = try await start()
    scene.upstream.answers { .accepted($0) }
    scene.simulation.advance(by: .seconds(2))
    #expect(scene.upstream.sent.count == sent)
    scene.simulation.advance(by: .seconds(20))
    #expect(life.subscription.pending.events == 0)
    #expect(life.subscription.ledger.isBalanced)
    life.log.close()
  }

  @Test("are told of once an hour, together with their app's new ones, when the upstream asks for hours")
  func longRetryAfter() async throws {
    let life = try await start()
    scene.upstream.answers { _ in .held(429, "rate_limited", retryAfter: "7200") }
    // Within the hours that are counted from the start.
    scene.simulation.advance(by: .seconds(600))
    await append(life)
    try await replay(0..<10, life)
    // Both lanes have a request under way when the first is answered.
    await scene.simulation.settle { scene.upstream.inFlight == 2 }
    for hour in 1...2 {
      scene.upstream.release()
      scene.simulation.settle()
      #expect(scene.upstream.inFlight == 0)
      #expect(scene.lines.value.count { $0.contains("over an hour") } == hour)
      scene.simulation.advance(by: .seconds(3600))
      #expect(scene.upstream.inFlight > 0)
    }
    life.log.close()
  }

  /// Stores a new event.
  private func append(_ life: Life) async {
    let text = Array(#"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(999))","name":"n","n":999}"#.utf8)
    let index = EventIndex(
      idHigh: 0, idLow: 999, installHash: 0, userHash: 0, length: text.count, nameOffset: 0, occurredAtOffset: 0,
      occurredAt: scene.simulation.wallClock.now, flags: [])
    let stored = Fact(false)
    text.withUnsafeBytes { body in
      [DraftEvent(index: index, offset: 0)].withUnsafeBufferPointer { events in
        life.log.append(
          FrameDraft(app: "ios", kind: .event, receivedAt: scene.simulation.wallClock.now, body: body, events: events)
        ) { _ in stored.change { $0 = true } }
      }
    }
    await stored.wait { $0 }
  }
}
