import Clocks
import EventLog
import Synchronization
import Testing

@testable import Delivery

@Suite("One install's long backlog")
struct HotBacklogTests {
  private let scene = Scene()

  @Test("is read a part at a time: others have the thread in between")
  func turns() async {
    var configuration = Scene.configuration()
    configuration.rateLimit = RateLimit(events: 0, eventsPerInstall: 50, margin: 0)
    scene.store(1...8000, install: 7)
    let life = await scene.start(configuration)
    scene.store(8001...16_000, install: 7)
    let subscription = life.subscription
    let before = subscription.reads
    let longest = await longestGo(subscription)
    #expect(subscription.reads - before >= 80, "all of it is read")
    #expect(longest > 0 && longest <= 17, "\(longest) reads in one go")
    #expect(life.status.lanes.first?.parkedInstalls == 1 && life.status.stuckSince == nil)
    // (Room comes a 20th of the minute late, every time.)
    scene.simulation.advance(by: .seconds(130))
    #expect(life.ledger.settled[.delivered] == 150)
  }

  @Test("that has grown too old is given up a part at a time too")
  func expired() async {
    var configuration = Scene.configuration()
    configuration.onExpired = .deadLetter
    scene.upstream.answers { _ in .hold }
    let life = await scene.start(configuration)
    let subscription = life.subscription
    for number in 1...2500 {
      scene.log.append(
        #"{"event_id":"0d9f6a34-0000-4000-8000-\#(Scene.twelve(number))","name":"n","n":\#(number)}"#,
        receivedAt: scene.simulation.wallClock.now, occurredAt: scene.simulation.wallClock.now - .seconds(8 * 86_400))
    }
    let longest = await longestGo(subscription)
    #expect(longest > 0 && longest <= 17, "\(longest) reads in one go")
    #expect(life.ledger.settled == Tally(.expired, 2500))
    #expect(scene.upstream.sent.isEmpty && scene.deadLetterNumbers.count == 2500)
  }

  /// Says that events have come, and tells how many reads of them there were at most between two turns of somebody else.
  private func longestGo(_ subscription: FakeSubscription) async -> Int {
    let samples = Mutex<[Int]>([])
    // Another task on the thread sees how far it is whenever it has its turn.
    await scene.simulation.drive { [simulation = scene.simulation] in
      subscription.progress()
      await withTaskExecutorPreference(simulation) {
        for _ in 0..<200 {
          samples.withLock { $0.append(subscription.reads) }
          await Task.yield()
        }
      }
    }
    scene.simulation.settle()
    let seen = samples.withLock { $0 } + [subscription.reads]
    return zip(seen, seen.dropFirst()).map { $1 - $0 }.max() ?? 0
  }
}
